package dev.carrel.control.validate;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What was found.
 *
 * @param valid whether it may be run, by the request's own measure
 * @param imports lines that were missing
 * @param fixed the code with those lines; null when nothing was added
 */
public record Verdict(
    boolean valid, List<Finding> findings, List<String> imports, @Nullable String fixed) {
  public Verdict {
    findings = List.copyOf(findings);
    imports = List.copyOf(imports);
  }

  /**
   * One thing that was found.
   *
   * @param rule {@code syntax}, {@code missing-import}, or the name of the dangerous call
   * @param line from 1; 0: not known
   * @param column from 1; 0: not known
   */
  public record Finding(String rule, Severity severity, int line, int column, String message) {}

  /** How much it matters. */
  public enum Severity {
    ERROR,
    CRITICAL,
    HIGH,
    MEDIUM,
    INFO;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Whether it is about what the code does rather than how it is written. */
    public boolean danger() {
      return this == CRITICAL || this == HIGH || this == MEDIUM;
    }
  }
}
