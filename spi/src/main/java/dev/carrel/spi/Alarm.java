package dev.carrel.spi;

import java.time.Duration;
import java.util.Comparator;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Calls back once a time is over, unless it is closed before: for bounds that are hardly ever
 * reached. To set one and to close it wakes no thread, which timed waits of virtual threads and the
 * JDK's timers do each time. The one thread of all alarms sleeps on until the earliest time that it
 * knew of, even if that one was closed meanwhile; only an earlier one wakes it.
 */
public final class Alarm implements AutoCloseable {
  private static final Duration LONGEST = Duration.ofDays(10_000);
  private static final Watch WATCH = new Watch();

  private final long due;
  private final long number;
  private final Runnable action;

  private Alarm(long due, long number, Runnable action) {
    this.due = due;
    this.number = number;
    this.action = action;
  }

  /**
   * Sets one.
   *
   * @param action must not block: the others wait for it, and one of them may be what ends the wait
   */
  public static Alarm after(Duration time, Runnable action) {
    return WATCH.set(time.compareTo(LONGEST) < 0 ? time : LONGEST, action);
  }

  /** Lets it not ring, if it has not begun to. */
  @Override
  public void close() {
    WATCH.remove(this);
  }

  private static final class Watch {
    private final long start = System.nanoTime();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition sooner = lock.newCondition();
    private final TreeSet<Alarm> alarms =
        new TreeSet<>(
            Comparator.<Alarm>comparingLong(alarm -> alarm.due)
                .thenComparingLong(alarm -> alarm.number));
    private long numbers;
    private long wakes = Long.MAX_VALUE;

    private Watch() {
      Thread.ofPlatform().daemon().name("alarms").start(this::run);
    }

    private long now() {
      return System.nanoTime() - start;
    }

    private Alarm set(Duration time, Runnable action) {
      lock.lock();
      try {
        var alarm = new Alarm(now() + time.toNanos(), numbers++, action);
        alarms.add(alarm);
        if (alarm.due < wakes) {
          sooner.signal();
        }
        return alarm;
      } finally {
        lock.unlock();
      }
    }

    private void remove(Alarm alarm) {
      lock.lock();
      try {
        alarms.remove(alarm);
      } finally {
        lock.unlock();
      }
    }

    private void run() {
      while (true) {
        try {
          next().action.run();
        } catch (InterruptedException e) {
          // Nobody interrupts it.
          return;
        } catch (RuntimeException | Error e) {
          // The top of a loop: the other alarms ring nevertheless.
          Thread thread = Thread.currentThread();
          thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
        }
      }
    }

    private Alarm next() throws InterruptedException {
      lock.lock();
      try {
        while (true) {
          wakes = alarms.isEmpty() ? Long.MAX_VALUE : alarms.first().due;
          long left = wakes - now();
          if (left <= 0) {
            return alarms.removeFirst();
          }
          boolean _ = sooner.await(left, TimeUnit.NANOSECONDS);
        }
      } finally {
        lock.unlock();
      }
    }
  }
}
