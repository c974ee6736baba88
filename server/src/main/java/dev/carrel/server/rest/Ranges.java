package dev.carrel.server.rest;

import dev.carrel.control.files.ByteRange;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The Range header. What is not a single range of bytes is as if it were not there (RFC 9110). */
public final class Ranges {
  private static final Pattern ONE = Pattern.compile("bytes=(\\d{0,18})-(\\d{0,18})");

  private Ranges() {}

  public static Optional<ByteRange> parse(String header) {
    Matcher matcher = ONE.matcher(header.strip());
    if (!matcher.matches()) {
      return Optional.empty();
    }
    Long first = number(matcher.group(1));
    Long last = number(matcher.group(2));
    if ((first == null && last == null) || (first != null && last != null && first > last)) {
      return Optional.empty();
    }
    return Optional.of(new ByteRange(first, last));
  }

  private static @Nullable Long number(String digits) {
    return digits.isEmpty() ? null : Long.valueOf(digits);
  }
}
