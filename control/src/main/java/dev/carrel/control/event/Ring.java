package dev.carrel.control.event;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The last events. Readers hold no place in it: one that is slow misses some and is told. */
final class Ring {
  private final int capacity;
  private final Deque<Event> events = new ArrayDeque<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition more = lock.newCondition();
  private long forgotten;

  /**
   * @param forgotten what was before this id is not known here
   */
  Ring(int capacity, long forgotten) {
    this.capacity = capacity;
    this.forgotten = forgotten;
  }

  void add(Event event) {
    lock.lock();
    try {
      events.addLast(event);
      if (events.size() > capacity) {
        forgotten = events.removeFirst().id();
      }
      more.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** The id of the last event that is no longer kept. */
  long forgotten() {
    lock.lock();
    try {
      return forgotten;
    } finally {
      lock.unlock();
    }
  }

  /** The first one after {@code last} that is wanted; null when none came in time. */
  @Nullable Event next(long last, Predicate<Event> wanted, Duration patience)
      throws InterruptedException {
    long left = patience.toNanos();
    lock.lockInterruptibly();
    try {
      while (true) {
        for (Event event : events) {
          if (event.id() > last && wanted.test(event)) {
            return event;
          }
        }
        if (left <= 0) {
          return null;
        }
        left = more.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }
}
