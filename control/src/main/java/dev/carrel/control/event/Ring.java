package dev.carrel.control.event;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The last events. Readers hold no place in it: one that is slow misses some and is told. */
final class Ring {
  private final Event[] events;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition more = lock.newCondition();
  private long added;
  private long forgotten;

  /**
   * @param forgotten what was before this id is not known here
   */
  Ring(int capacity, long forgotten) {
    this.events = new Event[capacity];
    this.forgotten = forgotten;
  }

  /** Ids must grow. */
  void add(Event event) {
    lock.lock();
    try {
      int place = (int) (added % events.length);
      if (added >= events.length) {
        forgotten = events[place].id();
      }
      events[place] = event;
      added++;
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

  /**
   * The first one after {@code last} that is wanted, if one came in time.
   *
   * @param patience null: without end
   */
  Found next(long last, Predicate<Event> wanted, @Nullable Duration patience)
      throws InterruptedException {
    long left = patience == null ? Long.MAX_VALUE : patience.toNanos();
    long seen = last;
    lock.lockInterruptibly();
    try {
      while (true) {
        for (long at = firstAfter(seen); at < added; at++) {
          Event event = events[(int) (at % events.length)];
          seen = event.id();
          if (wanted.test(event)) {
            return new Found(event, seen);
          }
        }
        if (left <= 0) {
          return new Found(null, seen);
        }
        if (patience == null) {
          more.await();
        } else {
          left = more.awaitNanos(left);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** The last so many that are wanted, oldest first. */
  List<Event> last(Predicate<Event> wanted, int limit) {
    var found = new ArrayDeque<Event>();
    lock.lock();
    try {
      long first = Math.max(0, added - events.length);
      for (long at = added - 1; at >= first && found.size() < limit; at--) {
        Event event = events[(int) (at % events.length)];
        if (wanted.test(event)) {
          found.addFirst(event);
        }
      }
    } finally {
      lock.unlock();
    }
    return List.copyOf(found);
  }

  /** Where the first event with a greater id stands, counted from the very first. */
  private long firstAfter(long id) {
    long low = Math.max(0, added - events.length);
    long high = added;
    while (low < high) {
      long middle = (low + high) >>> 1;
      if (events[(int) (middle % events.length)].id() > id) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /**
   * What a look found.
   *
   * @param seen the last event that was looked at
   */
  record Found(@Nullable Event event, long seen) {}
}
