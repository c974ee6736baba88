package dev.carrel.engine.testkit;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what other processes do, of which no event tells us. */
public final class Eventually {
  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(10);

  private Eventually() {}

  /** Returns as soon as the condition holds. */
  public static void holds(String what, Duration limit, BooleanSupplier condition) {
    long end = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("not within " + limit.toMillis() + " ms: " + what);
      }
      LockSupport.parkNanos(PAUSE);
    }
  }
}
