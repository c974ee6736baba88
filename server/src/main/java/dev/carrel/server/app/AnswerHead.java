package dev.carrel.server.app;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The status and headers of an app's answer, which come from hostile code: what is not plainly
 * valid HTTP/1.x is refused as a whole.
 *
 * @param length of the body; {@link #CHUNKED} or {@link #UNTIL_CLOSE}
 */
record AnswerHead(int status, List<Header> headers, long length) {
  static final long CHUNKED = -1;
  static final long UNTIL_CLOSE = -2;

  private static final int MAX_HEAD = 64 * 1024;
  private static final int MAX_HEADERS = 256;
  private static final int MAX_INTERIM = 8;
  private static final int SWITCHING = 101;

  AnswerHead {
    headers = List.copyOf(headers);
  }

  /** One line. */
  record Header(String name, String value) {}

  /** Reads to the final one; those in between that only say that it will come are dropped. */
  static AnswerHead read(AppInput in) throws IOException {
    for (int i = 0; i <= MAX_INTERIM; i++) {
      AnswerHead head = readOne(in);
      if (head.status >= 200 || head.status == SWITCHING) {
        return head;
      }
    }
    throw new AppBrokeOff("it sent " + MAX_INTERIM + " interim answers and no final one");
  }

  private static AnswerHead readOne(AppInput in) throws IOException {
    int left = MAX_HEAD;
    String first = in.line(left);
    left -= first.length() + 2;
    int status = status(first);
    var headers = new ArrayList<Header>();
    while (true) {
      String line = in.line(Math.max(left, 0));
      left -= line.length() + 2;
      if (line.isEmpty()) {
        return new AnswerHead(status, headers, length(first, headers));
      }
      if (headers.size() == MAX_HEADERS) {
        throw new AppBrokeOff("it has more than " + MAX_HEADERS + " headers");
      }
      headers.add(header(line));
    }
  }

  private static int status(String line) throws AppBrokeOff {
    boolean plain =
        line.length() >= 12
            && (line.startsWith("HTTP/1.1 ") || line.startsWith("HTTP/1.0 "))
            && (line.length() == 12 || line.charAt(12) == ' ');
    if (!plain || !line.substring(9, 12).chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw new AppBrokeOff("its first line is not HTTP/1.x");
    }
    int status = Integer.parseInt(line.substring(9, 12));
    if (status < 100 || status > 599) {
      throw new AppBrokeOff("its status is " + status);
    }
    return status;
  }

  private static Header header(String line) throws AppBrokeOff {
    int colon = line.indexOf(':');
    if (colon < 1 || !line.substring(0, colon).chars().allMatch(AnswerHead::isTokenChar)) {
      // Also what goes on from the line before, which no two programs read alike.
      throw new AppBrokeOff("a header line has no valid name");
    }
    String value = line.substring(colon + 1).strip();
    if (!value.chars().allMatch(c -> c == '\t' || (c >= 0x20 && c != 0x7f))) {
      throw new AppBrokeOff("a header holds control characters");
    }
    return new Header(line.substring(0, colon), value);
  }

  static boolean isTokenChar(int c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || "!#$%&'*+-.^_`|~".indexOf(c) >= 0;
  }

  private static long length(String first, List<Header> headers) throws AppBrokeOff {
    List<String> encodings = values(headers, "transfer-encoding");
    List<String> lengths = values(headers, "content-length").stream().distinct().toList();
    if (!encodings.isEmpty()) {
      boolean plain = encodings.size() == 1 && encodings.getFirst().equalsIgnoreCase("chunked");
      if (!plain || !lengths.isEmpty() || first.startsWith("HTTP/1.0")) {
        throw new AppBrokeOff("how long its body is can be read in two ways");
      }
      return CHUNKED;
    }
    if (lengths.isEmpty()) {
      return UNTIL_CLOSE;
    }
    String digits = lengths.getFirst();
    if (lengths.size() > 1
        || digits.isEmpty()
        || digits.length() > 18
        || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw new AppBrokeOff("its length is not a number");
    }
    return Long.parseLong(digits);
  }

  private static List<String> values(List<Header> headers, String name) {
    return headers.stream()
        .filter(header -> header.name.equalsIgnoreCase(name))
        .map(Header::value)
        .toList();
  }

  /** The only value of a header; empty when there is none. */
  Optional<String> find(String name) {
    return values(headers, name).stream().findFirst();
  }

  /** All tokens that lists under this name have. */
  List<String> tokens(String name) {
    return values(headers, name).stream()
        .flatMap(value -> Arrays.stream(value.split(",", -1)))
        .map(String::strip)
        .toList();
  }
}
