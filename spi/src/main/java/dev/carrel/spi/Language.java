package dev.carrel.spi;

import java.util.Arrays;
import java.util.Locale;

/** A language that contexts exist for. */
public enum Language {
  PYTHON,
  NODE,
  R,
  BASH;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Language parse(String name) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "python", "py", "python3" -> PYTHON;
      case "node", "javascript", "js", "nodejs" -> NODE;
      case "r" -> R;
      case "bash", "sh", "shell" -> BASH;
      default ->
          throw SandboxException.invalid(
              "language",
              "unknown language '"
                  + Text.printable(name, 32)
                  + "'; one of "
                  + Arrays.stream(values()).map(Language::wireName).toList());
    };
  }
}
