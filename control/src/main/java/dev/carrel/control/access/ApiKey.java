package dev.carrel.control.access;

import dev.carrel.control.sandbox.Caller;
import java.time.Instant;

/**
 * A key of which only the digest is kept.
 *
 * @param caller whom it stands for
 * @param mask its beginning, for people to tell keys apart
 * @param createdBy the principal that asked for it
 */
public record ApiKey(
    String id, String name, Caller caller, String mask, String createdBy, Instant createdAt) {

  /**
   * A fresh key.
   *
   * @param secret what the client sends; nobody can tell it a second time
   */
  public record Issued(ApiKey key, String secret) {
    /** Without the secret: this may reach a log. */
    @Override
    public String toString() {
      return "Issued[" + key + "]";
    }
  }
}
