package dev.carrel.server.http;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** Percent-encoded text to characters: once, strictly, or not at all. */
public final class PercentCoding {
  private PercentCoding() {}

  /**
   * A path segment. Bytes beyond ASCII that were not encoded are lost by the time they get here, so
   * that different names would become one.
   */
  static String segment(String raw) {
    if (!isAscii(raw)) {
      throw HttpProblem.unreadable("path", "has a character that must be percent-encoded");
    }
    return decode(raw, false, "path");
  }

  /** A name or value of a query, where + is a space. */
  public static String query(String raw, String field) {
    return decode(raw, true, field);
  }

  private static String decode(String raw, boolean plusIsSpace, String field) {
    if (raw.indexOf('%') < 0 && (!plusIsSpace || raw.indexOf('+') < 0) && isAscii(raw)) {
      return raw;
    }
    ByteBuffer bytes = ByteBuffer.allocate(raw.length() * 3);
    for (int i = 0; i < raw.length(); i++) {
      char c = raw.charAt(i);
      if (c == '%') {
        bytes.put((byte) octet(raw, i, field));
        i += 2;
      } else if (c == '+' && plusIsSpace) {
        bytes.put((byte) ' ');
      } else {
        bytes.put(String.valueOf(c).getBytes(StandardCharsets.UTF_8));
      }
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPORT)
          .onUnmappableCharacter(CodingErrorAction.REPORT)
          .decode(bytes.flip())
          .toString();
    } catch (CharacterCodingException e) {
      throw HttpProblem.unreadable(field, "is not UTF-8");
    }
  }

  private static int octet(String raw, int at, String field) {
    int high = at + 2 < raw.length() ? Character.digit(raw.charAt(at + 1), 16) : -1;
    int low = at + 2 < raw.length() ? Character.digit(raw.charAt(at + 2), 16) : -1;
    if (high < 0 || low < 0) {
      throw HttpProblem.unreadable(field, "has a % without two hexadecimal digits");
    }
    return high << 4 | low;
  }

  private static boolean isAscii(String raw) {
    return raw.chars().allMatch(c -> c < 0x80);
  }
}
