package dev.carrel.server.http;

import dev.carrel.spi.Alarm;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;

/**
 * Passes on a part of a body of which more may come. While a program takes nothing nobody reads
 * from the client either, so that one which leaves would not be noticed: a program that stalls for
 * long is given up.
 */
public final class Feeding {
  /** Longer than a program that reads its input now and then usually needs. */
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private Feeding() {}

  /**
   * Does this on this thread.
   *
   * @param sending waits for the program, until it is interrupted
   * @throws SandboxException {@code WRONG_STATE} when the program took nothing for too long
   */
  public static void run(Runnable sending) {
    run(PATIENCE, sending);
  }

  static void run(Duration patience, Runnable sending) {
    var bound = new Bound(Thread.currentThread());
    try (bound;
        var _ = Alarm.after(patience, bound::ring)) {
      sending.run();
    } catch (SandboxException e) {
      throw bound.passed() ? stalled(patience) : e;
    }
    if (bound.passed()) {
      throw stalled(patience);
    }
  }

  private static SandboxException stalled(Duration patience) {
    return new SandboxException(
            ErrorCode.WRONG_STATE,
            "the command has read no input for " + patience.toSeconds() + " s")
        .withHint("send the rest when it reads");
  }

  /** Interrupts its thread once, and not when that does something else already. */
  private static final class Bound implements AutoCloseable {
    private final Thread thread;
    private boolean rang;
    private boolean over;

    Bound(Thread thread) {
      this.thread = thread;
    }

    synchronized void ring() {
      if (!over) {
        rang = true;
        thread.interrupt();
      }
    }

    synchronized boolean passed() {
      return rang;
    }

    @Override
    public synchronized void close() {
      over = true;
      if (rang) {
        Thread.interrupted();
      }
    }
  }
}
