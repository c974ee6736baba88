package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one stream to a client, numbered, in order, kept for a client who comes back. One
 * writes, one reads. What is kept of notifications is bounded: of more, the oldest are dropped.
 */
final class Outbox {
  private final int maxItems;
  private final long maxNoticesWeight;
  private final Deque<Item> items = new ArrayDeque<>();
  private long last;
  private boolean finished;
  private long hungUp;
  private long weight;
  private long noticesWeight;

  /**
   * A message.
   *
   * @param last whether nothing follows
   * @param weight about as many characters as it has
   */
  record Item(long number, ObjectNode message, boolean last, boolean droppable, long weight) {}

  private Outbox(int maxItems, long maxNoticesWeight) {
    this.maxItems = maxItems;
    this.maxNoticesWeight = maxNoticesWeight;
  }

  /** The messages of one request. */
  static Outbox ofRequest() {
    return new Outbox(1024, 1 << 20);
  }

  /** What belongs to no request. It lives as long as a session, and there are many of these. */
  static Outbox ofSession() {
    return new Outbox(256, 64 << 10);
  }

  /** Something the client could do without, such as how far a call is. */
  synchronized void notice(ObjectNode message) {
    add(message, false, true);
  }

  /**
   * That something has changed. It takes the place of the same news that are kept: who comes back
   * after a hundred changes is told once, and looks once.
   */
  synchronized void changed(ObjectNode news) {
    for (Iterator<Item> kept = items.iterator(); kept.hasNext(); ) {
      Item item = kept.next();
      if (item.droppable && item.message.equals(news)) {
        kept.remove();
        forget(item);
      }
    }
    add(news, false, true);
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
    var item = new Item(++last, message, end, droppable, weigh(message));
    items.add(item);
    weight += item.weight;
    noticesWeight += droppable ? item.weight : 0;
    dropNotices(maxItems, maxNoticesWeight);
    notifyAll();
  }

  /** Drops the oldest notices until no more is left than this, or no notice is. */
  private void dropNotices(int leave, long leaveWeight) {
    for (Iterator<Item> oldest = items.iterator();
        oldest.hasNext() && (items.size() > leave || noticesWeight > leaveWeight); ) {
      Item item = oldest.next();
      if (item.droppable) {
        oldest.remove();
        forget(item);
      }
    }
  }

  private void forget(Item notice) {
    weight -= notice.weight;
    noticesWeight -= notice.weight;
  }

  /** About as many characters as it has. */
  static long weigh(JsonNode node) {
    long sum = node.isTextual() ? node.textValue().length() : 8;
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      sum += field.getKey().length() + weigh(field.getValue());
    }
    if (node.isArray()) {
      for (JsonNode element : node) {
        sum += weigh(element);
      }
    }
    return sum;
  }

  /** The reader has the last message: who comes back can do without the notices before it. */
  synchronized void delivered() {
    dropNotices(0, 0);
  }

  /** About as many characters as are kept. */
  synchronized long weight() {
    return weight;
  }

  /** Whether nothing more will be added. */
  synchronized boolean isFinished() {
    return finished;
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
