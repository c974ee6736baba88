package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent.Channel;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The cell that an interpreter runs, and the way of its output there. What came while none ran is
 * shown by the next one, before all that comes later. Safe for many threads.
 */
final class CurrentCell {
  // A cell has one writer at a time: the reader, and once whoever begins it. Fair, for the reader
  // of an interpreter that is never silent would else have it again before anybody who waits.
  private final ReentrantLock writing = new ReentrantLock(true);
  private final Object lock = new Object();
  private final BetweenCells between = new BetweenCells();
  private @Nullable Cell cell;

  /** To be called when the one before is over. */
  void begin(Cell next) throws InterruptedException {
    // Before anybody can see the cell: the reader would else write what comes now before what came,
    // or wait for whoever reads the cell, who waits for this.
    writing.lock();
    try {
      synchronized (lock) {
        cell = next;
      }
      passEarlier();
    } finally {
      writing.unlock();
    }
  }

  @Nullable Cell get() {
    synchronized (lock) {
      return cell;
    }
  }

  /** From now on there is none. */
  @Nullable Cell end() {
    synchronized (lock) {
      Cell running = cell;
      cell = null;
      return running;
    }
  }

  /** Shows what came while none ran, if one runs. */
  void passEarlier() throws InterruptedException {
    writing.lock();
    try {
      Cell running;
      List<CodeEvent.Output> earlier;
      synchronized (lock) {
        running = cell;
        if (running == null) {
          return;
        }
        earlier = between.take();
      }
      for (CodeEvent.Output output : earlier) {
        running.output(output.channel(), output.bytes());
      }
    } finally {
      writing.unlock();
    }
  }

  /**
   * Shows it, or keeps it for the next one.
   *
   * @param max bytes that may be kept
   * @return whether one runs
   */
  boolean output(Channel channel, ByteBuffer bytes, int max) throws InterruptedException {
    Cell running;
    synchronized (lock) {
      running = cell;
      if (running == null) {
        between.add(channel, bytes, max);
        return false;
      }
    }
    writing.lock();
    try {
      running.output(channel, bytes);
    } finally {
      writing.unlock();
    }
    return true;
  }
}
