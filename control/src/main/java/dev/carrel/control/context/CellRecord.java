package dev.carrel.control.context;

import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.spi.SandboxException;
import java.time.Instant;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The events of a cell that nobody in particular waits for, kept for whoever asks, while it runs
 * and after. No reader holds the cell up: of very many events only the last ones stay, and a reader
 * that comes too late is told how many it missed.
 */
final class CellRecord implements CellSink {
  private static final long MAX_BYTES = 4 << 20;
  // What each may keep, and steps in which it asks for more of the room of all that run.
  private static final long OWN_BYTES = 64 << 10;

  // What one takes beside what it keeps.
  private static final long RECORD_BYTES = 1024;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final NavigableMap<Long, CodeEvent> events = new TreeMap<>();
  private final MemoryRoom.Share room;
  private final Runnable end;
  private boolean told;
  private @Nullable Instant endedAt;
  private int readers;
  private long count;
  private long bytes;
  private long allowed = OWN_BYTES;
  private @Nullable CodeResult result;
  private @Nullable SandboxException failure;

  /**
   * @param end told when nothing more will come, before it gives its room back
   */
  CellRecord(MemoryRoom.Share room, Runnable end) {
    this.room = room;
    this.end = end;
  }

  MemoryRoom.Share room() {
    return room;
  }

  @Override
  public void put(CodeEvent event) {
    lock.lock();
    try {
      events.put(++count, event);
      bytes += CellEvents.cost(event);
      while (allowed < Math.min(bytes, MAX_BYTES) && room.take(OWN_BYTES)) {
        allowed += OWN_BYTES;
      }
      while (bytes > allowed && events.size() > 1) {
        bytes -= CellEvents.cost(events.pollFirstEntry().getValue());
      }
      if (event instanceof CodeEvent.Done(CodeResult folded)) {
        result = folded;
        endedAt = Instant.now();
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (event instanceof CodeEvent.Done) {
      tellEnd();
    }
  }

  @Override
  public void drop() {
    // Nobody is waited for anyway.
  }

  @Override
  public void abandon() {
    fail(Cell.shuttingDown());
  }

  /** It did not begin, or nobody will learn how it ended. */
  void fail(SandboxException reason) {
    lock.lock();
    try {
      failure = reason;
      endedAt = Instant.now();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    tellEnd();
  }

  // Without the lock: who is told looks at all records, this one among them.
  private void tellEnd() {
    end.run();
    lock.lock();
    try {
      told = true;
      giveRoom();
    } finally {
      lock.unlock();
    }
  }

  /** Whether nothing more will come. */
  boolean over() {
    lock.lock();
    try {
      return endedAt != null;
    } finally {
      lock.unlock();
    }
  }

  /** Whether it runs, or has not been over for longer than since then. */
  boolean runsSince(Instant then) {
    lock.lock();
    try {
      return endedAt == null || endedAt.isAfter(then);
    } finally {
      lock.unlock();
    }
  }

  /** What it holds in memory. */
  long size() {
    lock.lock();
    try {
      CodeResult folded = result;
      return RECORD_BYTES + (folded == null ? bytes : bytes + size(folded));
    } finally {
      lock.unlock();
    }
  }

  /** It is over and nobody reads: from now on it counts among those that are kept. */
  private void giveRoom() {
    if (readers == 0 && told) {
      room.close();
    }
  }

  private void left() {
    lock.lock();
    try {
      readers--;
      giveRoom();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the end. */
  CodeResult await() throws InterruptedException {
    lock.lock();
    try {
      while (true) {
        CodeResult folded = result;
        if (folded != null) {
          return folded;
        }
        if (failure != null) {
          throw failure;
        }
        changed.await();
      }
    } finally {
      lock.unlock();
    }
  }

  /** All of it, from the first event on. */
  CodeStream stream(boolean replay) {
    lock.lock();
    try {
      readers++;
      return new CodeStream(new Reader(), replay, () -> {}, this::left);
    } finally {
      lock.unlock();
    }
  }

  private static long size(CodeResult result) {
    MimeBundle value = result.result();
    return result.stdout().text().length()
        + result.stderr().text().length()
        + (value == null ? 0 : CellEvents.size(value))
        + result.displayOutputs().stream().mapToLong(item -> item.data().length).sum();
  }

  private final class Reader implements CellSource {
    private long taken;

    @Override
    public @Nullable CodeEvent take(long nanos) throws InterruptedException {
      long left = nanos;
      lock.lock();
      try {
        while (count <= taken) {
          if (failure != null) {
            throw failure;
          }
          if (left <= 0) {
            return null;
          }
          left = changed.awaitNanos(left);
        }
        Map.Entry<Long, CodeEvent> next = events.higherEntry(taken);
        long missed = next.getKey() - taken - 1;
        if (missed > 0) {
          taken += missed;
          return new CodeEvent.Gap(missed);
        }
        taken = next.getKey();
        return next.getValue();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public long taken() {
      return taken;
    }
  }
}
