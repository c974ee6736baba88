package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one stream to a client, numbered, in order, kept for a client who comes back. One
 * writes, one reads. What is kept is bounded: of more, the oldest notifications are dropped.
 */
final class Outbox {
  private static final int MAX_ITEMS = 1024;

  private final Deque<Item> items = new ArrayDeque<>();
  private long last;
  private boolean finished;
  private long hungUp;

  /**
   * A message.
   *
   * @param last whether nothing follows
   */
  record Item(long number, ObjectNode message, boolean last, boolean droppable) {}

  /** Something the client could do without, such as how far a call is. */
  synchronized void notice(ObjectNode message) {
    add(message, false, true);
  }

  /** Something the client has to get. */
  synchronized void require(ObjectNode message) {
    add(message, false, false);
  }

  /** The last message. */
  synchronized void finish(ObjectNode message) {
    add(message, true, false);
  }

  /** Nothing will come any more, not even an answer. */
  synchronized void abandon() {
    finished = true;
    notifyAll();
  }

  /** Whoever reads now is to stop; who comes back goes on. */
  synchronized void hangUp() {
    hungUp++;
    notifyAll();
  }

  synchronized long hangUps() {
    return hungUp;
  }

  private void add(ObjectNode message, boolean end, boolean droppable) {
    if (finished) {
      return;
    }
    finished = end;
    items.add(new Item(++last, message, end, droppable));
    if (items.size() > MAX_ITEMS) {
      for (Iterator<Item> oldest = items.iterator(); oldest.hasNext(); ) {
        if (oldest.next().droppable) {
          oldest.remove();
          break;
        }
      }
    }
    notifyAll();
  }

  /**
   * The first message after this number; null when none came in time, or none will, or the reader
   * is to stop.
   *
   * @param hangUps seen when the reader began
   */
  synchronized @Nullable Item next(long after, Duration patience, long hangUps)
      throws InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    while (true) {
      if (hungUp != hangUps) {
        return null;
      }
      for (Item item : items) {
        if (item.number > after) {
          return item;
        }
      }
      long left = end - System.nanoTime();
      if (finished || left <= 0) {
        return null;
      }
      // Rounded up, or the last millisecond would be a busy loop.
      wait(left / 1_000_000 + 1);
    }
  }

  /** Whether a reader who has all up to this number will get no more from here. */
  synchronized boolean isOver(long after, long hangUps) {
    return hungUp != hangUps || (finished && after >= last);
  }
}
