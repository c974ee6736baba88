package dev.carrel.egress;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Lets bytes pass at a pace, all who ask together. */
final class Pace {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();
  private static final long BURST = Duration.ofMillis(250).toNanos();

  private long free = System.nanoTime();

  /** Returns when so many more bytes are due. */
  void take(long bytes, long perSecond) {
    long due;
    synchronized (this) {
      long now = System.nanoTime();
      free = Math.max(free, now - BURST) + Math.multiplyExact(bytes, SECOND) / perSecond;
      due = free;
    }
    for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      LockSupport.parkNanos(wait);
    }
  }
}
