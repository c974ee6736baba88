package dev.carrel.server.rest;

import dev.carrel.server.http.Query;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.util.Base64;

/** How bytes stand in JSON. */
enum Encoding {
  UTF_8("utf-8", "text"),
  BASE64("base64", "base64");

  private final String wireName;
  private final String field;

  Encoding(String wireName, String field) {
    this.wireName = wireName;
    this.field = field;
  }

  static Encoding of(Query query) {
    return switch (query.text("encoding").orElse("utf-8")) {
      case "utf-8" -> UTF_8;
      case "base64" -> BASE64;
      default -> throw SandboxException.invalid("encoding", "must be utf-8 or base64");
    };
  }

  String wireName() {
    return wireName;
  }

  /** The field of an event that holds the bytes. */
  String field() {
    return field;
  }

  static String base64(ByteBuffer bytes) {
    byte[] copy = new byte[bytes.remaining()];
    bytes.duplicate().get(copy);
    return Base64.getEncoder().encodeToString(copy);
  }
}
