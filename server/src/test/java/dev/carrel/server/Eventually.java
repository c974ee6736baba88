package dev.carrel.server;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for something that another process brings about. */
public final class Eventually {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration STEP = Duration.ofMillis(20);

  private Eventually() {}

  public static void until(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("still not so after " + PATIENCE + ": " + what);
      }
      LockSupport.parkNanos(STEP.toNanos());
    }
  }
}
