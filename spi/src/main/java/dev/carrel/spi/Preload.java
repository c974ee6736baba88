package dev.carrel.spi;

import java.util.Arrays;
import java.util.Locale;

/** What a warm interpreter has imported before it is forked into a sandbox. */
public enum Preload {
  /** The kernel alone. */
  PLAIN,
  IPYTHON,
  /** IPython, numpy, pandas and matplotlib, as far as the image has them. */
  DATA;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Preload parse(String name) {
    for (Preload preload : values()) {
      if (preload.wireName().equals(name.toLowerCase(Locale.ROOT))) {
        return preload;
      }
    }
    throw SandboxException.invalid(
        "preload",
        "unknown preload '"
            + Text.printable(name, 32)
            + "'; one of "
            + Arrays.stream(values()).map(Preload::wireName).toList());
  }
}
