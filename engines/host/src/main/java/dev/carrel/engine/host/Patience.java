package dev.carrel.engine.host;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what the JDK gives no event for: the end of a process that is not its child. */
public final class Patience {
  private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);

  private Patience() {}

  /** Whether it came true in time. */
  public static boolean until(Duration most, BooleanSupplier condition) {
    long end = System.nanoTime() + most.toNanos();
    long pause = TimeUnit.MICROSECONDS.toNanos(500);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      LockSupport.parkNanos(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
    return true;
  }
}
