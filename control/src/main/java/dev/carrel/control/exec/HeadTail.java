package dev.carrel.control.exec;

import dev.carrel.spi.Text;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongPredicate;

/**
 * The beginning and the end of a stream, in bounded memory: less than was asked for where there is
 * no room. Works on bytes; they become text once, when somebody asks. For one writing thread;
 * {@link #text()} is for after the end.
 */
public final class HeadTail {
  // No character takes more bytes than this: what has more bytes has more characters than allowed.
  private static final int MAX_BYTES_PER_CHAR = 3;
  private static final int FIRST_CAPACITY = 256;
  // Of each end, whether there is room or not.
  private static final int LEAST = 1024;

  private final int limit;
  private final LongPredicate room;
  private int headCapacity;
  private int tailCapacity;
  private byte[] head = {};
  private byte[] tail = {};
  private int headLength;
  private int tailNext;
  private boolean tailFull;
  private long total;

  /**
   * @param limit characters to keep, half from each end
   */
  public HeadTail(int limit) {
    this(limit, _ -> true);
  }

  /**
   * @param room asked for so many bytes more; what it has given stays in use
   */
  public HeadTail(int limit, LongPredicate room) {
    this.limit = limit;
    this.room = room;
    this.headCapacity = Math.multiplyExact(limit, MAX_BYTES_PER_CHAR);
    this.tailCapacity = headCapacity / 2 + MAX_BYTES_PER_CHAR;
  }

  /** Takes all of the buffer, whose position does not move. */
  public void add(ByteBuffer bytes) {
    ByteBuffer rest = bytes.duplicate();
    total += rest.remaining();
    int toHead = Math.min(rest.remaining(), headCapacity - headLength);
    if (toHead > 0) {
      growHead(headLength + toHead);
      toHead = Math.min(toHead, headCapacity - headLength);
      rest.get(head, headLength, toHead);
      headLength += toHead;
    }
    if (rest.hasRemaining()) {
      addToTail(rest);
    }
  }

  /** Bytes that went by unseen: what comes after them is not the beginning. */
  public void skip(long bytes) {
    if (bytes > 0) {
      total += bytes;
      headCapacity = headLength;
    }
  }

  public CapturedText text() {
    byte[] last = tailBytes();
    if (total == headLength + last.length) {
      byte[] bytes = Arrays.copyOf(head, headLength + last.length);
      System.arraycopy(last, 0, bytes, headLength, last.length);
      String all = new String(bytes, StandardCharsets.UTF_8);
      return all.length() <= limit
          ? new CapturedText(all, total, false)
          : new CapturedText(cut(all, all), total, true);
    }
    String first = new String(head, 0, lastWholeCharacter(), StandardCharsets.UTF_8);
    int start = firstWholeCharacter(last);
    String end = new String(last, start, last.length - start, StandardCharsets.UTF_8);
    return new CapturedText(cut(first, end), total, true);
  }

  /** The text if it is short enough, else its two ends with a note between. */
  public static String shorten(String text, int limit) {
    if (text.length() <= limit) {
      return text;
    }
    return ends(text, text, limit, "%,d characters".formatted(text.length()));
  }

  private String cut(String first, String last) {
    return ends(first, last, limit, "%,d bytes".formatted(total));
  }

  private static String ends(String first, String last, int limit, String size) {
    return Text.head(first, limit - limit / 2)
        + "\n\n... [truncated: "
        + size
        + " in all, the middle is left out] ...\n\n"
        + Text.tail(last, limit / 2);
  }

  private void growHead(int needed) {
    if (needed > head.length) {
      int capacity = Math.max(Math.max(FIRST_CAPACITY, needed), head.length * 2);
      capacity = Math.min(capacity, headCapacity);
      if (!isRoom(head.length, capacity)) {
        // It ends here: what comes later cannot follow what is missing.
        capacity = Math.min(Math.max(head.length, LEAST), headCapacity);
        headCapacity = capacity;
      }
      head = Arrays.copyOf(head, capacity);
    }
  }

  private boolean isRoom(int now, int wanted) {
    int more = wanted - Math.max(now, LEAST);
    return more <= 0 || room.test(more);
  }

  private void addToTail(ByteBuffer bytes) {
    if (tail.length == 0) {
      if (!isRoom(0, tailCapacity)) {
        tailCapacity = Math.min(LEAST, tailCapacity);
      }
      tail = new byte[tailCapacity];
    }
    if (bytes.remaining() > tailCapacity) {
      bytes.position(bytes.limit() - tailCapacity);
    }
    while (bytes.hasRemaining()) {
      int length = Math.min(bytes.remaining(), tailCapacity - tailNext);
      bytes.get(tail, tailNext, length);
      tailNext += length;
      if (tailNext == tailCapacity) {
        tailNext = 0;
        tailFull = true;
      }
    }
  }

  private byte[] tailBytes() {
    if (!tailFull) {
      return Arrays.copyOf(tail, tailNext);
    }
    byte[] ordered = new byte[tailCapacity];
    System.arraycopy(tail, tailNext, ordered, 0, tailCapacity - tailNext);
    System.arraycopy(tail, 0, ordered, tailCapacity - tailNext, tailNext);
    return ordered;
  }

  private static int firstWholeCharacter(byte[] bytes) {
    int start = 0;
    while (start < Math.min(3, bytes.length) && continues(bytes[start])) {
      start++;
    }
    return start;
  }

  /** Where the head ends without a character of which the rest is missing. */
  private int lastWholeCharacter() {
    int begin = headLength - 1;
    while (begin >= Math.max(0, headLength - 3) && continues(head[begin])) {
      begin--;
    }
    boolean cut = begin >= 0 && headLength - begin < length(head[begin]);
    return cut ? begin : headLength;
  }

  private static boolean continues(byte value) {
    return (value & 0xC0) == 0x80;
  }

  /** Of the character that begins so. */
  private static int length(byte first) {
    return Math.max(1, Integer.numberOfLeadingZeros(~(first << 24)));
  }
}
