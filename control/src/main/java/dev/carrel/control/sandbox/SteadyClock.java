package dev.carrel.control.sandbox;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.function.LongSupplier;

/**
 * The wall clock without its jumps. Somebody who sets the clock, or a host that slept, must not end
 * sandboxes early or keep them for too long: time passes here as it passes for a stopwatch, and a
 * difference to the wall clock is made up for slowly. Never goes back. Safe for many threads.
 */
public final class SteadyClock implements InstantSource {
  /** A hundredth of the time that passes: an hour's jump is made up for in four days. */
  private static final int SLEW = 100;

  private final InstantSource wall;
  private final LongSupplier stopwatch;
  private Instant last;
  private long lastNanos;

  /**
   * Starts with what the wall clock says now.
   *
   * @param stopwatch as {@link System#nanoTime}
   */
  public SteadyClock(InstantSource wall, LongSupplier stopwatch) {
    this.wall = wall;
    this.stopwatch = stopwatch;
    this.last = wall.instant();
    this.lastNanos = stopwatch.getAsLong();
  }

  /** That of this machine. */
  public static SteadyClock system() {
    return new SteadyClock(InstantSource.system(), System::nanoTime);
  }

  @Override
  public synchronized Instant instant() {
    long nanos = stopwatch.getAsLong();
    long passed = nanos - lastNanos;
    lastNanos = nanos;
    last = last.plusNanos(passed);
    Duration most = Duration.ofNanos(passed / SLEW);
    Duration behind = Duration.between(last, wall.instant());
    if (behind.abs().compareTo(most) <= 0) {
      last = last.plus(behind);
    } else {
      last = behind.isNegative() ? last.minus(most) : last.plus(most);
    }
    return last;
  }
}
