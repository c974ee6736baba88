package dev.carrel.cli;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** When to ask again for a stream that broke off, and when to give it up. For one thread. */
final class Retries {
  private static final Duration FIRST = Duration.ofMillis(50);
  private static final Duration LONGEST = Duration.ofSeconds(2);

  /** A machine that slept may need a while to find its network again. */
  private static final Duration IN_ALL = Duration.ofMinutes(1);

  private static final Duration HELD = Duration.ofSeconds(5);

  private Duration next = FIRST;
  private long end;
  private @Nullable Long connected;

  Retries() {
    patient(System.nanoTime());
    connected();
  }

  /** There is a connection. */
  void connected() {
    connected = System.nanoTime();
  }

  /** Returns when it is time to ask again; false when it has been tried for long enough. */
  boolean again() throws InterruptedException {
    long now = System.nanoTime();
    if (connected != null && now - connected > HELD.toNanos()) {
      patient(now);
    }
    connected = null;
    if (now - end > 0) {
      return false;
    }
    Thread.sleep(next);
    Duration twice = next.multipliedBy(2);
    next = twice.compareTo(LONGEST) > 0 ? LONGEST : twice;
    return true;
  }

  private void patient(long now) {
    next = FIRST;
    end = now + IN_ALL.toNanos();
  }
}
