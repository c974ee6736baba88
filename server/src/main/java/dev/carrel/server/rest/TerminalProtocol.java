package dev.carrel.server.rest;

import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the messages of a terminal's WebSocket mean.
 *
 * @param name what was agreed on; null: the client named nothing
 * @param control whether texts are control messages; if not, texts are keys as bytes are
 */
record TerminalProtocol(@Nullable String name, boolean control) {
  static final String PLAIN = "carrel.terminal.v1";
  static final String CONTROL = "carrel.terminal.control.v1";
  private static final String TOKEN = "carrel.token.";

  /** The first of those that the client offers and we know. */
  static TerminalProtocol chosen(Exchange exchange) {
    List<String> offered = offered(exchange);
    for (String name : offered) {
      if (name.equals(PLAIN) || name.equals(CONTROL)) {
        return new TerminalProtocol(name, name.equals(CONTROL));
      }
    }
    if (!offered.isEmpty()) {
      // A browser takes an answer that agrees on nothing for a failure.
      throw SandboxException.invalid(
          "Sec-WebSocket-Protocol", "must name " + PLAIN + " or " + CONTROL);
    }
    return new TerminalProtocol(null, false);
  }

  /** The token that a browser has no other place for. */
  static Optional<String> token(Exchange exchange) {
    return offered(exchange).stream()
        .filter(name -> name.startsWith(TOKEN))
        .map(name -> name.substring(TOKEN.length()))
        .findFirst();
  }

  Map<String, String> headers() {
    return name == null ? Map.of() : Map.of(WebSocket.PROTOCOL.defaultCase(), name);
  }

  private static List<String> offered(Exchange exchange) {
    var names = new ArrayList<String>();
    for (String line : exchange.headers(WebSocket.PROTOCOL)) {
      for (String name : line.split(",", -1)) {
        names.add(name.strip());
      }
    }
    return names;
  }
}
