package dev.carrel.control.exec;

import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecEvent.Output;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongPredicate;

/**
 * A run of output bytes with the stream of each, in the form in which it is stored: records of a
 * 4-byte header (2 bits kind, 30 bits length) and the bytes. A gap has a length but no bytes. It
 * grows up to its capacity as long as there is room for it.
 */
final class OutputBlock {
  static final int CAPACITY = 64 * 1024;
  // Whether there is room or not.
  static final int LEAST = 1024;
  static final int HEADER = 4;
  static final int KIND_GAP = 2;
  private static final int KIND_SHIFT = 30;
  private static final int LENGTH_MASK = (1 << KIND_SHIFT) - 1;

  private final LongPredicate room;
  private byte[] bytes;
  private long from;
  private long to;
  private int length;
  private int lastHeader = -1;

  /**
   * @param room asked for so many bytes more than the least; what it has given stays in use
   */
  OutputBlock(long from, LongPredicate room) {
    this(from, new byte[LEAST], room);
  }

  /** A block for the end of a log: nothing can be put into it. */
  static OutputBlock none(long at) {
    return new OutputBlock(at, new byte[0], _ -> false);
  }

  /** Reuses the memory of a block that is no longer needed. */
  OutputBlock(long from, OutputBlock old) {
    this(from, old.bytes, old.room);
  }

  private OutputBlock(long from, byte[] bytes, LongPredicate room) {
    this.room = room;
    this.bytes = bytes;
    this.from = from;
    this.to = from;
  }

  static int header(int kind, int length) {
    return kind << KIND_SHIFT | length;
  }

  static int kind(int header) {
    return header >>> KIND_SHIFT;
  }

  static int length(int header) {
    return header & LENGTH_MASK;
  }

  static Channel channel(int header) {
    return kind(header) == 0 ? Channel.STDOUT : Channel.STDERR;
  }

  private static int kindOf(Channel channel) {
    return switch (channel) {
      case STDOUT -> 0;
      case STDERR -> 1;
    };
  }

  /** Takes as much of the buffer as fits. */
  int put(Channel channel, ByteBuffer source) {
    int kind = kindOf(channel);
    boolean extend = lastHeader >= 0 && kind(headerAt(lastHeader)) == kind;
    int header = extend ? 0 : HEADER;
    grow(length + header + source.remaining());
    int count = Math.min(bytes.length - length - header, source.remaining());
    if (count <= 0) {
      return 0;
    }
    if (!extend) {
      lastHeader = length;
      length += HEADER;
      setHeader(lastHeader, header(kind, 0));
    }
    source.get(bytes, length, count);
    length += count;
    setHeader(lastHeader, headerAt(lastHeader) + count);
    to += count;
    return count;
  }

  private void grow(int needed) {
    if (needed > bytes.length && bytes.length > 0 && bytes.length < CAPACITY) {
      int wanted = Math.min(CAPACITY, Math.max(needed, bytes.length * 2));
      if (room.test(wanted - bytes.length)) {
        bytes = Arrays.copyOf(bytes, wanted);
      }
    }
  }

  /** Output bytes in it have offsets from here... */
  long from() {
    return from;
  }

  /** ...to here, exclusive. */
  long to() {
    return to;
  }

  boolean empty() {
    return length == 0;
  }

  /** The stored form. */
  ByteBuffer stored() {
    return ByteBuffer.wrap(bytes, 0, length).asReadOnlyBuffer();
  }

  byte[] copyOfStored() {
    return Arrays.copyOf(bytes, length);
  }

  int storedLength() {
    return length;
  }

  /** An empty block may begin anywhere. */
  void moveTo(long offset) {
    from = offset;
    to = offset;
  }

  List<Output> read(long offset, int max) {
    return decode(stored(), from, offset, max);
  }

  /**
   * The output in stored records from an offset on.
   *
   * @param start offset of the first byte in {@code records}
   */
  static List<Output> decode(ByteBuffer records, long start, long offset, int max) {
    var outputs = new ArrayList<Output>();
    long at = start;
    int left = max;
    while (records.remaining() >= HEADER && left > 0) {
      int header = records.getInt();
      int size = length(header);
      if (kind(header) == KIND_GAP) {
        at += size;
        continue;
      }
      int skip = Math.clamp(offset - at, 0, size);
      int count = Math.min(size - skip, left);
      if (count > 0) {
        byte[] copy = new byte[count];
        records.get(records.position() + skip, copy);
        outputs.add(new Output(channel(header), ByteBuffer.wrap(copy)));
        left -= count;
      }
      records.position(records.position() + size);
      at += size;
    }
    return outputs;
  }

  private int headerAt(int position) {
    return ByteBuffer.wrap(bytes).getInt(position);
  }

  private void setHeader(int position, int header) {
    ByteBuffer.wrap(bytes).putInt(position, header);
  }
}
