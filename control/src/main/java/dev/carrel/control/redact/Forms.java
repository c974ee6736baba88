package dev.carrel.control.redact;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The shapes in which a value shows up in output: as it is, in Base64 at each of the three
 * alignments it can have inside a longer text, in hexadecimal, and escaped for a URL or for JSON.
 */
final class Forms {
  // RFC 3986's unreserved characters are never escaped; these are what encoders differ about.
  private static final String[] KEPT_IN_URLS = {"", "/", "!~*'()", "!~*'();/?:@&=+$,#"};
  // What the usual tools wrap their lines at: base64, openssl and PEM, xxd.
  private static final int[] BASE64_COLUMNS = {76, 64};
  private static final int HEX_COLUMNS = 60;

  private final Map<String, byte[]> found = new LinkedHashMap<>();

  private Forms() {}

  /** All of them, each once. */
  static Collection<byte[]> of(byte[] value) {
    var forms = new Forms();
    forms.add(value);
    forms.base64(value);
    forms.hex(value);
    String text = new String(value, StandardCharsets.UTF_8);
    for (String kept : KEPT_IN_URLS) {
      forms.url(value, kept);
    }
    forms.json(text);
    return forms.found.values();
  }

  private void add(byte[] form) {
    found.putIfAbsent(new String(form, StandardCharsets.ISO_8859_1), form);
  }

  private void add(String form) {
    add(form.getBytes(StandardCharsets.UTF_8));
  }

  private void base64(byte[] value) {
    for (Base64.Encoder encoder :
        new Base64.Encoder[] {Base64.getEncoder(), Base64.getUrlEncoder()}) {
      String alone = encoder.encodeToString(value);
      add(alone);
      add(encoder.withoutPadding().encodeToString(value));
      for (int columns : BASE64_COLUMNS) {
        add(wrapped(alone, columns));
      }
      for (int before = 0; before < 3; before++) {
        add(core(encoder, value, before));
      }
    }
  }

  /** The characters that the value alone decides, when so many bytes stand before it. */
  private static String core(Base64.Encoder encoder, byte[] value, int before) {
    byte[] shifted = new byte[before + value.length];
    System.arraycopy(value, 0, shifted, before, value.length);
    String all = encoder.withoutPadding().encodeToString(shifted);
    int first = (before * 8 + 5) / 6;
    int end = shifted.length * 8 / 6;
    return all.substring(first, end);
  }

  private void hex(byte[] value) {
    for (HexFormat format : new HexFormat[] {HexFormat.of(), HexFormat.of().withUpperCase()}) {
      String all = format.formatHex(value);
      add(all);
      add(wrapped(all, HEX_COLUMNS));
    }
  }

  private static String wrapped(String text, int columns) {
    var lines = new StringBuilder();
    for (int at = 0; at < text.length(); at += columns) {
      lines.append(at == 0 ? "" : "\n").append(text, at, Math.min(at + columns, text.length()));
    }
    return lines.toString();
  }

  private void url(byte[] value, String kept) {
    for (HexFormat format : new HexFormat[] {HexFormat.of().withUpperCase(), HexFormat.of()}) {
      for (String space : new String[] {"%20", "+"}) {
        var escaped = new StringBuilder();
        for (byte b : value) {
          char c = (char) (b & 0xff);
          if (c == ' ') {
            escaped.append(space);
          } else if (unreserved(c) || kept.indexOf(c) >= 0) {
            escaped.append(c);
          } else {
            escaped.append('%').append(format.toHexDigits(b));
          }
        }
        add(escaped.toString());
      }
    }
  }

  private static boolean unreserved(char c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || "-_.~".indexOf(c) >= 0;
  }

  private void json(String text) {
    for (boolean ascii : new boolean[] {false, true}) {
      for (boolean slash : new boolean[] {false, true}) {
        var escaped = new StringBuilder();
        text.chars().forEach(c -> escapeJson(escaped, (char) c, ascii, slash));
        add(escaped.toString());
      }
    }
  }

  private static void escapeJson(StringBuilder out, char c, boolean ascii, boolean slash) {
    switch (c) {
      case '"' -> out.append("\\\"");
      case '\\' -> out.append("\\\\");
      case '\n' -> out.append("\\n");
      case '\r' -> out.append("\\r");
      case '\t' -> out.append("\\t");
      case '\b' -> out.append("\\b");
      case '\f' -> out.append("\\f");
      case '/' -> out.append(slash ? "\\/" : "/");
      default -> {
        if (c < ' ' || (ascii && c > '~')) {
          out.append("\\u").append(HexFormat.of().toHexDigits(c));
        } else {
          out.append(c);
        }
      }
    }
  }
}
