package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was found in code that was looked at and not run.
 *
 * @param imports lines that were missing
 * @param fixedCode the code with those lines; null when nothing was added
 */
public record Validation(
    boolean valid, List<Finding> findings, List<String> imports, @Nullable String fixedCode) {
  /**
   * One finding.
   *
   * @param severity error, critical, high, medium or info
   * @param line from 1; 0: not known
   */
  public record Finding(String rule, String severity, int line, int column, String message) {}
}
