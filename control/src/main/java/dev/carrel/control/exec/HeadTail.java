package dev.carrel.control.exec;

import dev.carrel.spi.Text;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The beginning and the end of a stream, in bounded memory. Works on bytes; they become text once,
 * when somebody asks. For one writing thread; {@link #text()} is for after the end.
 */
public final class HeadTail {
  // No character takes more bytes than this: what has more bytes has more characters than allowed.
  private static final int MAX_BYTES_PER_CHAR = 3;
  private static final int FIRST_CAPACITY = 256;

  private final int limit;
  private final int headCapacity;
  private final int tailCapacity;
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
    this.limit = limit;
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
      rest.get(head, headLength, toHead);
      headLength += toHead;
    }
    if (rest.hasRemaining()) {
      addToTail(rest);
    }
  }

  /** Bytes that went by unseen. */
  public void skip(long bytes) {
    total += bytes;
  }

  public CapturedText text() {
    if (total == headLength) {
      String all = new String(head, 0, headLength, StandardCharsets.UTF_8);
      return all.length() <= limit
          ? new CapturedText(all, total, false)
          : new CapturedText(cut(all, all), total, true);
    }
    String first = new String(head, 0, headLength, StandardCharsets.UTF_8);
    byte[] last = tailBytes();
    int start = firstWholeCharacter(last);
    String end = new String(last, start, last.length - start, StandardCharsets.UTF_8);
    return new CapturedText(cut(first, first + end), total, true);
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
      head = Arrays.copyOf(head, Math.min(capacity, headCapacity));
    }
  }

  private void addToTail(ByteBuffer bytes) {
    if (tail.length == 0) {
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

  private int firstWholeCharacter(byte[] bytes) {
    int start = 0;
    // Only when bytes before were dropped can the first character be cut.
    while (tailFull && start < Math.min(3, bytes.length) && (bytes[start] & 0xC0) == 0x80) {
      start++;
    }
    return start;
  }
}
