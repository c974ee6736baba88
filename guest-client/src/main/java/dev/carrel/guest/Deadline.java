package dev.carrel.guest;

import dev.carrel.spi.Alarm;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection when one wait on it lasts too long, which ends the wait with an exception.
 * Hostile code may have stopped the process that ought to answer, so no wait for it is open-ended.
 *
 * <p>Only waiting counts: a caller that is slow to take what has arrived loses nothing. The price
 * of a wait is two volatile writes; an alarm looks again when the present wait could be over.
 */
final class Deadline implements AutoCloseable {
  private static final long NOT_WAITING = Long.MIN_VALUE;

  private final Runnable hangUp;
  private final long patience;
  private volatile long waitingSince = NOT_WAITING;
  private volatile boolean passed;
  private @Nullable Alarm check;
  private long notBefore;
  private boolean stopped;

  Deadline(Runnable hangUp, long patienceNanos) {
    this.hangUp = hangUp;
    this.patience = patienceNanos;
    this.notBefore = System.nanoTime();
    schedule(patienceNanos);
  }

  void beginWait() {
    waitingSince = System.nanoTime();
  }

  void endWait() {
    waitingSince = NOT_WAITING;
  }

  /** Whether it was this that closed the connection. */
  boolean passed() {
    return passed;
  }

  /** From now on, waits may last as long as they like until this much time is over. */
  synchronized void suspend(long nanos) {
    if (check != null) {
      check.close();
    }
    notBefore = System.nanoTime() + nanos;
    schedule(nanos + patience);
  }

  /** No wait is limited any more. */
  @Override
  public synchronized void close() {
    stopped = true;
    if (check != null) {
      check.close();
    }
  }

  private synchronized void schedule(long nanos) {
    if (!stopped) {
      check = Alarm.after(Duration.ofNanos(nanos), this::check);
    }
  }

  private synchronized void check() {
    long now = System.nanoTime();
    long since = waitingSince;
    long start = since == NOT_WAITING ? now : since;
    long left = (start - notBefore > 0 ? start : notBefore) + patience - now;
    if (left > 0) {
      schedule(left);
      return;
    }
    passed = true;
    stopped = true;
    hangUp.run();
  }

  /**
   * Interrupts the calling thread when opening a connection lasts too long, for there is no channel
   * to close yet.
   */
  static final class Opening implements AutoCloseable {
    private final Thread caller = Thread.currentThread();
    private final Alarm alarm;
    private boolean done;
    private boolean rung;

    Opening(long patienceNanos) {
      alarm = Alarm.after(Duration.ofNanos(patienceNanos), this::ring);
    }

    synchronized boolean passed() {
      return rung;
    }

    private synchronized void ring() {
      if (!done) {
        rung = true;
        caller.interrupt();
      }
    }

    @Override
    public synchronized void close() {
      done = true;
      alarm.close();
      if (rung) {
        // Ours, not the caller's: taken back before anybody else sees it.
        Thread.interrupted();
      }
    }
  }
}
