package dev.carrel.server.http;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** What a download says of its name. */
public final class Disposition {
  private Disposition() {}

  /** A Content-Disposition that no name can break out of (RFC 6266, RFC 8187). */
  public static String of(String kind, String name) {
    var plain = new StringBuilder();
    var extended = new StringBuilder();
    name.codePoints()
        .forEach(
            c -> plain.append(c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? (char) c : '_'));
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      if (isAttributeChar(b)) {
        extended.append((char) b);
      } else {
        extended.append(String.format(Locale.ROOT, "%%%02X", b & 0xff));
      }
    }
    return kind + "; filename=\"" + plain + "\"; filename*=UTF-8''" + extended;
  }

  private static boolean isAttributeChar(byte b) {
    return (b >= 'a' && b <= 'z')
        || (b >= 'A' && b <= 'Z')
        || (b >= '0' && b <= '9')
        || b == '-'
        || b == '.'
        || b == '_'
        || b == '~';
  }
}
