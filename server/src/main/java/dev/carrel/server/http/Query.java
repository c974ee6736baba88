package dev.carrel.server.http;

import dev.carrel.spi.SandboxException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The parameters after the question mark, read with their types. */
public final class Query {
  private final String raw;

  Query(@Nullable String raw) {
    this.raw = raw == null ? "" : raw;
  }

  /** The first value of a parameter; an empty one counts as absent. */
  public Optional<String> text(String name) {
    int from = 0;
    while (from < raw.length()) {
      int end = raw.indexOf('&', from);
      end = end < 0 ? raw.length() : end;
      int equals = raw.indexOf('=', from);
      int nameEnd = equals < 0 || equals > end ? end : equals;
      if (PercentCoding.query(raw.substring(from, nameEnd), "query").equals(name)) {
        String value =
            nameEnd == end ? "" : PercentCoding.query(raw.substring(nameEnd + 1, end), name);
        return value.isEmpty() ? Optional.empty() : Optional.of(value);
      }
      from = end + 1;
    }
    return Optional.empty();
  }

  public long number(String name, long absent, long min, long max) {
    Optional<String> text = text(name);
    if (text.isEmpty()) {
      return absent;
    }
    long value;
    try {
      value = Long.parseLong(text.get());
    } catch (NumberFormatException e) {
      throw SandboxException.invalid(name, "must be a whole number");
    }
    if (value < min || value > max) {
      throw SandboxException.invalid(name, "must be between " + min + " and " + max);
    }
    return value;
  }

  public boolean flag(String name, boolean absent) {
    Optional<String> text = text(name);
    if (text.isEmpty()) {
      return absent;
    }
    return switch (text.get()) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw SandboxException.invalid(name, "must be true or false");
    };
  }
}
