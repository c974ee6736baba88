package dev.carrel.server.http;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a client of a WebSocket offers to speak, and the token that a browser puts beside it. */
public final class Subprotocols {
  private static final String TOKEN = "carrel.token.";

  private Subprotocols() {}

  /** In the client's order, with the token; empty when it names nothing. */
  public static List<String> offered(Exchange exchange) {
    var names = new ArrayList<String>();
    for (String line : exchange.headers(WebSocket.PROTOCOL)) {
      for (String name : line.split(",", -1)) {
        names.add(name.strip());
      }
    }
    return names;
  }

  /** The token that a browser has no other place for. */
  public static Optional<String> token(Exchange exchange) {
    return offered(exchange).stream()
        .filter(name -> name.startsWith(TOKEN))
        .map(name -> name.substring(TOKEN.length()))
        .findFirst();
  }
}
