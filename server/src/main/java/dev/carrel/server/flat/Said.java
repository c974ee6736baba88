package dev.carrel.server.flat;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/** What the server says over a WebSocket of the flat API. */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Said(String type, @Nullable String data) {
  static final Said PONG = new Said("pong", null);
  static final Said UNKNOWN = error("unknown message type");
  static final Said MALFORMED = error("invalid message format");

  static Said output(String text) {
    return new Said("output", text);
  }

  static Said error(String why) {
    return new Said("error", why);
  }
}
