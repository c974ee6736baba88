package dev.carrel.sdk;

import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** When to try again after a connection was lost, and when to give up. For one thread. */
final class Patience {
  private static final Duration FIRST = Duration.ofMillis(50);
  private static final Duration LONGEST = Duration.ofSeconds(2);
  private static final Duration IN_ALL = Duration.ofSeconds(30);

  private final LongSupplier clock;
  private Duration next = FIRST;
  private Duration waited = Duration.ZERO;
  private @Nullable Long opened;

  Patience() {
    this(System::nanoTime);
  }

  /**
   * @param clock in nanoseconds
   */
  Patience(LongSupplier clock) {
    this.clock = clock;
  }

  /** There is a connection. */
  void opened() {
    opened = clock.getAsLong();
  }

  /** Returns when it is time to try again; throws the failure when trying again is no use. */
  void afterFailure(CarrelException failure) {
    Long since = opened;
    if (since != null && clock.getAsLong() - since > IN_ALL.toNanos()) {
      // It held, though nothing may have come: the next one has all patience again.
      reset();
    }
    opened = null;
    boolean passing =
        failure.code() == ErrorCode.UNREACHABLE || failure.code() == ErrorCode.SHUTTING_DOWN;
    if (!passing || waited.compareTo(IN_ALL) > 0 || Thread.currentThread().isInterrupted()) {
      throw failure;
    }
    try {
      Thread.sleep(next);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure;
    }
    waited = waited.plus(next);
    Duration twice = next.multipliedBy(2);
    next = twice.compareTo(LONGEST) > 0 ? LONGEST : twice;
  }

  /** All is well again. */
  void reset() {
    next = FIRST;
    waited = Duration.ZERO;
  }
}
