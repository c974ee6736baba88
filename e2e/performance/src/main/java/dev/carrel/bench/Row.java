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
 * @param there what that took on the machine that the goal was set on; null where the goal is none
 *     of its multiples
 */
record Row(
    String name,
    double value,
    @Nullable Double p95,
    String unit,
    @Nullable Double goal,
    boolean lowerIsBetter,
    @Nullable String beside,
    @Nullable Double there) {

  static Row floor(String name, Samples samples) {
    return new Row(name, samples.p50Millis(), samples.p95Millis(), "ms", null, true, null, null);
  }

  static Row latency(String name, Samples samples, double goalMillis, @Nullable String beside) {
    return new Row(
        name, samples.p50Millis(), samples.p95Millis(), "ms", goalMillis, true, beside, null);
  }

  static Row figure(String name, double value, String unit, double goal) {
    return new Row(name, value, null, unit, goal, true, null, null);
  }

  /** A figure to be seen beside another, with no goal of its own. */
  static Row note(String name, double value, String unit) {
    return new Row(name, value, null, unit, null, true, null, null);
  }

  static Row rate(String name, double value, String unit, @Nullable Double goal) {
    return new Row(name, value, null, unit, goal, false, null, null);
  }

  /** Its goal is also one as a multiple of the floor: a slower machine is slower at both. */
  Row against(Floors.Floor floor) {
    return new Row(name, value, p95, unit, goal, lowerIsBetter, floor.name(), floor.there());
  }

  boolean met() {
    return goal == null || reaches(value, goal);
  }

  /** Whether it is within the goal as a multiple of what stands beside it. */
  boolean metBeside(double reference) {
    return goal != null && there != null && reaches(value / reference, goal / there);
  }

  private boolean reaches(double reached, double wanted) {
    return lowerIsBetter ? reached <= wanted : reached >= wanted;
  }
}
