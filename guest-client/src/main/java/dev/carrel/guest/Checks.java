package dev.carrel.guest;

import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;

/** What the host's own callers may ask for. */
final class Checks {
  /** Most entries or matches in one answer. */
  static final int MAX_ENTRIES = 100_000;

  /** Longest line of a match that can be asked for. */
  static final int MAX_LINE = 64 * 1024;

  private Checks() {}

  static int range(String field, int value, int min, int max) {
    if (value < min || value > max) {
      throw SandboxException.invalid(
          field, "must be between " + min + " and " + max + ", not " + value);
    }
    return value;
  }

  static String path(String field, String path) {
    if (path.isEmpty()) {
      throw SandboxException.invalid(field, "must not be empty");
    }
    if (text(field, path).length > Fields.MAX_PATH) {
      throw SandboxException.invalid(field, "must be at most " + Fields.MAX_PATH + " bytes");
    }
    return path;
  }

  /** As UTF-8, exactly: what has no such form is refused, not replaced. */
  static byte[] text(String field, String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\0') {
        throw SandboxException.invalid(field, "must not contain NUL");
      }
      if (Character.isSurrogate(c)) {
        boolean pair =
            Character.isHighSurrogate(c)
                && i + 1 < text.length()
                && Character.isLowSurrogate(text.charAt(i + 1));
        if (!pair) {
          throw SandboxException.invalid(field, "is not valid Unicode");
        }
        i++;
      }
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
