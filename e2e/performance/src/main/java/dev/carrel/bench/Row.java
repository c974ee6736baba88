package dev.carrel.bench;

import org.jspecify.annotations.Nullable;

/**
 * One line of the report.
 *
 * @param value in {@code unit}; the median where it was repeated
 * @param p95 null where the operation was not repeated
 * @param goal null where the line is a floor or a peer
 * @param lowerIsBetter false for rates
 * @param beside the floor or peer of the same run that the ratio is against
 */
record Row(
    String name,
    double value,
    @Nullable Double p95,
    String unit,
    @Nullable Double goal,
    boolean lowerIsBetter,
    @Nullable String beside) {

  static Row floor(String name, Samples samples) {
    return new Row(name, samples.p50Millis(), samples.p95Millis(), "ms", null, true, null);
  }

  static Row latency(String name, Samples samples, double goalMillis, @Nullable String beside) {
    return new Row(name, samples.p50Millis(), samples.p95Millis(), "ms", goalMillis, true, beside);
  }

  static Row figure(String name, double value, String unit, double goal) {
    return new Row(name, value, null, unit, goal, true, null);
  }

  /** A figure to be seen beside another, with no goal of its own. */
  static Row note(String name, double value, String unit) {
    return new Row(name, value, null, unit, null, true, null);
  }

  static Row rate(String name, double value, String unit, @Nullable Double goal) {
    return new Row(name, value, null, unit, goal, false, null);
  }

  Row against(String other) {
    return new Row(name, value, p95, unit, goal, lowerIsBetter, other);
  }

  boolean met() {
    return goal == null || (lowerIsBetter ? value <= goal : value >= goal);
  }
}
