package dev.carrel.control.idempotency;

import dev.carrel.spi.SandboxException;

/**
 * A caller's own name for a request that it may send again.
 *
 * @param digest of all that the request asks for; the same name must come with the same one
 */
public record RequestKey(String name, String digest) {
  /** As callers know it. */
  public static final String FIELD = "Idempotency-Key";

  private static final int MAX_NAME = 255;

  public RequestKey {
    if (name.isEmpty()
        || name.length() > MAX_NAME
        || !name.chars().allMatch(c -> c > 0x20 && c < 0x7f)) {
      throw SandboxException.invalid(
          FIELD, "must have 1 to " + MAX_NAME + " visible ASCII characters");
    }
  }
}
