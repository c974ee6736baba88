package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Events on their way from a kernel to one reader, bounded in bytes. A slow reader makes the kernel
 * wait; once the cell is to be stopped, what does not fit is dropped instead. Done always arrives.
 */
final class CellEvents implements CellSink, CellSource {
  private static final long MAX_BYTES = 256 << 10;
  // What an event costs beside its bytes: a cell can print a million lines of one character.
  private static final long EVENT_BYTES = 128;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<CodeEvent> events = new ArrayDeque<>();
  private long bytes;
  private boolean dropping;
  private boolean abandoned;
  private long taken;

  @Override
  public void put(CodeEvent event) throws InterruptedException {
    long size = cost(event);
    lock.lock();
    try {
      // Whoever tells it goes on with the next cell, which may be somebody else's.
      boolean last = event instanceof CodeEvent.Done;
      while (bytes > 0 && bytes + size > MAX_BYTES && !dropping && !last) {
        changed.await();
      }
      if (bytes + size <= MAX_BYTES || bytes == 0 || last) {
        events.add(event);
        bytes += size;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void drop() {
    lock.lock();
    try {
      dropping = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void abandon() {
    lock.lock();
    try {
      abandoned = true;
      dropping = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public @Nullable CodeEvent take(long nanos) throws InterruptedException {
    long left = nanos;
    lock.lock();
    try {
      while (events.isEmpty()) {
        if (abandoned) {
          throw Cell.shuttingDown();
        }
        if (left <= 0) {
          return null;
        }
        left = changed.awaitNanos(left);
      }
      CodeEvent event = events.remove();
      bytes -= cost(event);
      taken++;
      changed.signalAll();
      return event;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long taken() {
    return taken;
  }

  /** What it takes to keep it. */
  static long cost(CodeEvent event) {
    return EVENT_BYTES + size(event);
  }

  private static long size(CodeEvent event) {
    return switch (event) {
      case CodeEvent.Output(ExecEvent.Channel _, ByteBuffer output) -> output.remaining();
      case CodeEvent.Result(MimeBundle bundle) -> size(bundle);
      case CodeEvent.Display(MimeBundle bundle) -> size(bundle);
      case CodeEvent.Failed(CodeError error) ->
          error.message().length() + (long) error.traceback().length();
      case CodeEvent.Begun _, CodeEvent.Gap _, CodeEvent.Done _ -> 0;
    };
  }

  static long size(MimeBundle bundle) {
    return bundle.items().stream().mapToLong(item -> item.data().length).sum();
  }
}
