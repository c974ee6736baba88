package dev.carrel.engine.docker;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Isolation;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a daemon was found to be able to do. That is found out once; where no machine came up to be
 * looked at, as when the daemon is away, it is tried again by whoever asks later.
 */
final class Measured {
  /** How much longer than a look without success took nobody takes another. */
  private static final long REST = 10;

  private final ReentrantLock looking = new ReentrantLock();
  private volatile @Nullable Capabilities last;
  private volatile long next;

  /**
   * @param known what is known already; null: nothing
   */
  Measured(@Nullable Capabilities known) {
    this.last = known;
  }

  Capabilities now(Supplier<Capabilities> look) {
    Capabilities before = last;
    if (before != null && (!failed(before) || resting() || looking.isLocked())) {
      return before;
    }
    looking.lock();
    try {
      Capabilities meanwhile = last;
      if (meanwhile != null && (!failed(meanwhile) || resting())) {
        return meanwhile;
      }
      long begin = System.nanoTime();
      Capabilities found = look.get();
      long end = System.nanoTime();
      next = end + REST * (end - begin);
      last = found;
      return found;
    } finally {
      looking.unlock();
    }
  }

  private boolean resting() {
    return System.nanoTime() - next < 0;
  }

  private static boolean failed(Capabilities found) {
    return !found.usable() && found.isolation().strength() == Isolation.Strength.NONE;
  }
}
