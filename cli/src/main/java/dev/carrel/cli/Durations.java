package dev.carrel.cli;

import java.time.Duration;

/** Times as people type them. */
final class Durations {
  /** Servers lower a timeout to the most they allow. */
  static final Duration AS_LONG_AS_ALLOWED = Duration.ofDays(7);

  private Durations() {}

  static Duration ofSeconds(double seconds) {
    return Duration.ofMillis(Math.round(seconds * 1000));
  }
}
