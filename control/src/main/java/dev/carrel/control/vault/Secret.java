package dev.carrel.control.vault;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A secret as its owner sees it: everything but its value.
 *
 * @param name the variable that a process gets it in
 * @param version grows with each rotation
 * @param canary whether it only exists to be seen leaving
 * @param updatedAt of the present version; null for one of the server's environment
 */
public record Secret(
    String namespace,
    String name,
    long version,
    boolean canary,
    Source source,
    @Nullable Instant createdAt,
    @Nullable Instant updatedAt) {
  /** Shorter ones would turn ordinary text into masks. */
  public static final int MIN_BYTES = 6;

  public static final int MAX_BYTES = 8192;

  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,127}");

  /** Where a value is kept. */
  public enum Source {
    STORE,
    ENVIRONMENT;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static void checkName(String field, String name) {
    if (!NAME.matcher(name).matches()) {
      throw SandboxException.invalid(
          field,
          "must be the name of a variable: 1 to 128 letters, digits and '_', the first no digit,"
              + " not '"
              + Text.printable(name, 64)
              + "'");
    }
  }

  static void checkValue(String value) {
    int length = value.getBytes(StandardCharsets.UTF_8).length;
    if (length < MIN_BYTES) {
      throw SandboxException.invalid("value", "must have at least " + MIN_BYTES + " bytes")
          .withHint(
              "a shorter one cannot be told from ordinary text, and so cannot be kept out of it");
    }
    if (length > MAX_BYTES) {
      throw SandboxException.invalid("value", "must have at most " + MAX_BYTES + " bytes");
    }
    if (value.indexOf('\0') >= 0) {
      throw SandboxException.invalid("value", "must not contain NUL: no variable can");
    }
  }
}
