package dev.carrel.server.rest;

import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Subprotocols;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.Map;
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

  /** The first of those that the client offers and we know. */
  static TerminalProtocol chosen(Exchange exchange) {
    List<String> offered = Subprotocols.offered(exchange);
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

  Map<String, String> headers() {
    return name == null ? Map.of() : Map.of(WebSocket.PROTOCOL.defaultCase(), name);
  }
}
