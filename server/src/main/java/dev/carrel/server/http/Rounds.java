package dev.carrel.server.http;

import dev.carrel.spi.Alarm;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Looks from time to time for what clients have left behind, as long as there is anything: nobody
 * else may come for whose sake it would be noticed. Safe for many threads.
 */
public final class Rounds implements AutoCloseable {
  private final Duration every;
  private final BooleanSupplier look;
  private @Nullable Alarm next;
  private boolean closed;

  /**
   * @param look ends what was left; says whether there is anything to look for again
   */
  public Rounds(Duration every, BooleanSupplier look) {
    this.every = every;
    this.look = look;
  }

  /** There is something to look for. */
  public synchronized void begin() {
    if (next == null && !closed) {
      next = Alarm.after(every, () -> Thread.startVirtualThread(this::run));
    }
  }

  private void run() {
    synchronized (this) {
      // First: what comes while this looks, it may not see.
      next = null;
    }
    boolean more = true;
    try {
      more = look.getAsBoolean();
    } finally {
      if (more) {
        begin();
      }
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (next != null) {
      next.close();
    }
  }
}
