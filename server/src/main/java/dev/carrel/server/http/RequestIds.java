package dev.carrel.server.http;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicLong;

/** Names requests, so that an answer, a log line and a caller's own log can be put together. */
public final class RequestIds {
  private static final int MAX_LENGTH = 64;

  private final String prefix;
  private final AtomicLong last = new AtomicLong();

  public RequestIds() {
    byte[] random = new byte[5];
    new SecureRandom().nextBytes(random);
    prefix = "rq" + HexFormat.of().formatHex(random) + "-";
  }

  public String next() {
    return prefix + Long.toString(last.incrementAndGet(), 36);
  }

  /** Takes the caller's own id when it cannot spoil a header or a log. */
  String of(String offered) {
    boolean fit =
        !offered.isEmpty()
            && offered.length() <= MAX_LENGTH
            && offered.chars().allMatch(RequestIds::isPlain);
    return fit ? offered : next();
  }

  private static boolean isPlain(int c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || c == '-'
        || c == '_'
        || c == '.';
  }
}
