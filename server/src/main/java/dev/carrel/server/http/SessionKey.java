package dev.carrel.server.http;

import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;

/** Which of the caller's sandboxes is meant where a request names none. */
public final class SessionKey {
  private static final HeaderName HEADER = HeaderNames.create("X-Session-ID");
  // One for all: the tools of MCP and the flat routes are about the same computer.
  private static final String USUAL = "mcp";

  private SessionKey() {}

  public static String of(Exchange exchange) {
    return exchange.header(HEADER).orElse(USUAL);
  }
}
