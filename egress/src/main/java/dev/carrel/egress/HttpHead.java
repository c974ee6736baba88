package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The start line and the fields of a request or an answer, read so strictly that nobody after us
 * can read them differently: lines end in CR LF, no folding, no blanks around names, no controls.
 *
 * @param start the three parts of the start line
 * @param size in bytes, as it was read
 */
record HttpHead(List<String> start, List<Field> fields, int size) {
  private static final int MAX_BYTES = 48 * 1024;
  private static final int MAX_FIELDS = 200;
  private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");
  private static final Pattern LENGTH = Pattern.compile("[0-9]{1,18}");
  private static final Set<String> OF_ONE_HOP =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-authenticate",
          "proxy-authorization",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "http2-settings");

  record Field(String name, String value) {}

  /** Reads one; null when the connection ends before it begins. */
  static @Nullable HttpHead read(Wire wire) throws IOException, RefusedException {
    int end = await(wire);
    if (end == 0) {
      return null;
    }
    HttpHead head = parse(text(wire.input(), end));
    wire.input().position(wire.input().position() + end);
    return head;
  }

  /** As {@link #read}, and leaves it in the wire. */
  static @Nullable HttpHead peek(Wire wire) throws IOException, RefusedException {
    int end = await(wire);
    return end == 0 ? null : parse(text(wire.input(), end));
  }

  /** How many bytes it has, once they are there; 0 when the connection ends before it begins. */
  private static int await(Wire wire) throws IOException, RefusedException {
    int end;
    int scanned = 0;
    while ((end = endOfHead(wire.input(), scanned)) < 0) {
      scanned = Math.max(0, wire.input().remaining() - 3);
      if (wire.input().remaining() > MAX_BYTES) {
        throw RefusedException.malformed("the head has more than " + MAX_BYTES + " bytes");
      }
      if (!wire.fill()) {
        if (wire.input().hasRemaining()) {
          throw RefusedException.malformed("the connection ended within a head");
        }
        return 0;
      }
    }
    return end;
  }

  private static String text(ByteBuffer bytes, int end) {
    byte[] head = new byte[end];
    bytes.get(bytes.position(), head);
    return new String(head, StandardCharsets.ISO_8859_1);
  }

  /** How many bytes the head has, the empty line included; negative: it is not all there. */
  private static int endOfHead(ByteBuffer bytes, int from) {
    int base = bytes.position();
    for (int i = base + from; i + 3 < bytes.limit(); i++) {
      if (bytes.get(i) == '\r'
          && bytes.get(i + 1) == '\n'
          && bytes.get(i + 2) == '\r'
          && bytes.get(i + 3) == '\n') {
        return i + 4 - base;
      }
    }
    return -1;
  }

  static HttpHead parse(String text) throws RefusedException {
    String[] lines = text.substring(0, text.length() - 4).split("\r\n", -1);
    for (String line : lines) {
      if (line.chars().anyMatch(c -> (c < 0x20 && c != '\t') || c == 0x7f)) {
        throw RefusedException.malformed("the head has control characters in it");
      }
    }
    if (lines.length - 1 > MAX_FIELDS) {
      throw RefusedException.malformed("the head has more than " + MAX_FIELDS + " fields");
    }
    var fields = new ArrayList<Field>(lines.length - 1);
    for (int i = 1; i < lines.length; i++) {
      int colon = lines[i].indexOf(':');
      String name = colon < 0 ? "" : lines[i].substring(0, colon);
      if (!TOKEN.matcher(name).matches()) {
        throw RefusedException.malformed("a field's name is not a token");
      }
      fields.add(new Field(name, trim(lines[i].substring(colon + 1))));
    }
    return new HttpHead(List.of(lines[0].split(" ", 3)), List.copyOf(fields), text.length());
  }

  private static String trim(String value) {
    int start = 0;
    int end = value.length();
    while (start < end && isBlank(value.charAt(start))) {
      start++;
    }
    while (end > start && isBlank(value.charAt(end - 1))) {
      end--;
    }
    return value.substring(start, end);
  }

  private static boolean isBlank(char c) {
    return c == ' ' || c == '\t';
  }

  static boolean isToken(String text) {
    return TOKEN.matcher(text).matches();
  }

  List<String> values(String name) {
    return fields.stream()
        .filter(field -> field.name().equalsIgnoreCase(name))
        .map(Field::value)
        .toList();
  }

  boolean has(String name) {
    return fields.stream().anyMatch(field -> field.name().equalsIgnoreCase(name));
  }

  /** Whether the field's list has this word. */
  boolean says(String name, String word) {
    return values(name).stream()
        .flatMap(value -> Stream.of(value.split(",", -1)))
        .anyMatch(item -> trim(item).equalsIgnoreCase(word));
  }

  /** How its body ends, if it has one; null: nothing says so. */
  @Nullable Framing framing() throws RefusedException {
    List<String> codings = values("Transfer-Encoding");
    List<String> lengths = values("Content-Length");
    if (!codings.isEmpty()) {
      if (!lengths.isEmpty()) {
        throw RefusedException.malformed("both Transfer-Encoding and Content-Length");
      }
      if (codings.size() != 1 || !codings.getFirst().equalsIgnoreCase("chunked")) {
        throw RefusedException.malformed("a Transfer-Encoding other than chunked");
      }
      return new Framing.Chunked();
    }
    if (lengths.isEmpty()) {
      return null;
    }
    if (lengths.size() != 1 || !LENGTH.matcher(lengths.getFirst()).matches()) {
      throw RefusedException.malformed("Content-Length is not one number");
    }
    return new Framing.Length(Long.parseLong(lengths.getFirst()));
  }

  /** The fields that are meant for the other end, without those that say how the body ends. */
  List<Field> endToEnd() {
    var dropped = new HashSet<>(OF_ONE_HOP);
    dropped.add("content-length");
    for (String value : values("Connection")) {
      for (String name : value.split(",", -1)) {
        dropped.add(trim(name).toLowerCase(Locale.ROOT));
      }
    }
    return fields.stream()
        .filter(field -> !dropped.contains(field.name().toLowerCase(Locale.ROOT)))
        .toList();
  }
}
