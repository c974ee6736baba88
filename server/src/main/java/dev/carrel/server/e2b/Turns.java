package dev.carrel.server.e2b;

import dev.carrel.spi.SandboxId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Turns of cells in contexts. A cell with variables of its own is three cells of its context, and
 * has it alone from the first to the last; those without any share it and stand in its queue.
 */
final class Turns {
  private final Map<Key, Place> places = new ConcurrentHashMap<>();

  /**
   * A context.
   *
   * @param context its id, or the language whose default it is
   */
  record Key(SandboxId sandbox, Object context) {}

  private static final class Place {
    // Fair, or who wants it alone would never get it.
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);
    private int users;
  }

  /** A turn, until it is closed by the thread that took it. */
  interface Turn extends AutoCloseable {
    @Override
    void close();
  }

  Turn take(Key key, boolean alone) throws InterruptedException {
    Place place =
        places.compute(
            key,
            (_, found) -> {
              Place used = found == null ? new Place() : found;
              used.users++;
              return used;
            });
    Lock lock = alone ? place.lock.writeLock() : place.lock.readLock();
    try {
      lock.lockInterruptibly();
    } catch (InterruptedException e) {
      leave(key);
      throw e;
    }
    return () -> {
      lock.unlock();
      leave(key);
    };
  }

  private void leave(Key key) {
    places.computeIfPresent(key, (_, place) -> --place.users == 0 ? null : place);
  }

  /** How many contexts somebody uses or waits for. */
  int size() {
    return places.size();
  }
}
