package dev.carrel.control.context;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The kernel protocol of {@code spec/kernel-protocol.md}, as the host speaks it: requests out,
 * checked events in. A frame costs memory only as its bytes arrive, whatever its header claims.
 */
final class KernelFrames {
  static final int EXECUTE = 0x01;
  static final int PING = 0x02;
  static final int BIND = 0x05;
  static final int READY = 0x81;
  static final int RESULT = 0x82;
  static final int DISPLAY = 0x83;
  static final int ERROR = 0x84;
  static final int DONE = 0x85;
  static final int PONG = 0x87;

  private static final int HEADER = 5;
  private static final int MAX_PROTOCOL = 64 << 20;
  private static final int MAX_SMALL = 1 << 20;
  private static final int MAX_ITEMS = 64;
  private static final int MAX_MIME = 256;
  private static final int FIRST_CAPACITY = 4096;

  private final Room room;
  private final ByteBuffer header = ByteBuffer.allocate(HEADER).order(ByteOrder.LITTLE_ENDIAN);
  private byte[] payload = {};
  private int filled;
  private int length = -1;
  private int type;
  private boolean skipping;
  private @Nullable Resync resync;

  KernelFrames(Room room) {
    this.room = room;
  }

  /** Whether there is room for a value of this many bytes now. */
  interface Room {
    boolean take(int type, int bytes);
  }

  static ByteBuffer execute(int id, String code) {
    byte[] text = code.getBytes(StandardCharsets.UTF_8);
    return request(EXECUTE, 12 + text.length)
        .putInt(id)
        .putInt(0)
        .putInt(text.length)
        .put(text)
        .flip();
  }

  static ByteBuffer ping(int id) {
    return request(PING, 4).putInt(id).flip();
  }

  static ByteBuffer bind(int id, Map<String, String> environment) {
    List<byte[]> strings =
        environment.entrySet().stream()
            .flatMap(variable -> Stream.of(variable.getKey(), variable.getValue()))
            .map(text -> text.getBytes(StandardCharsets.UTF_8))
            .toList();
    int size = strings.stream().mapToInt(text -> Integer.BYTES + text.length).sum();
    ByteBuffer frame = request(BIND, 8 + size).putInt(id).putInt(environment.size());
    strings.forEach(text -> frame.putInt(text.length).put(text));
    return frame.flip();
  }

  /**
   * Joins a stream in the middle of something: everything is dropped until the answer to the ping
   * with this id.
   */
  void resync(int id) {
    resync = new Resync(id);
  }

  /** The next event in the bytes; null when they are used up. */
  @Nullable KernelEvent next(ByteBuffer bytes) throws Malformed {
    Resync searching = resync;
    if (searching != null) {
      if (!searching.find(bytes)) {
        return null;
      }
      resync = null;
      return new KernelEvent.Pong(searching.id);
    }
    while (bytes.hasRemaining()) {
      if (length < 0 && !readHeader(bytes)) {
        return null;
      }
      int count = Math.min(bytes.remaining(), length - filled);
      take(bytes, count);
      if (filled == length) {
        return finish();
      }
    }
    return null;
  }

  private boolean readHeader(ByteBuffer bytes) throws Malformed {
    while (header.hasRemaining() && bytes.hasRemaining()) {
      header.put(bytes.get());
    }
    if (header.hasRemaining()) {
      return false;
    }
    header.flip();
    length = header.getInt();
    type = header.get() & 0xFF;
    header.clear();
    filled = 0;
    if (length < 0 || length > MAX_PROTOCOL) {
      throw new Malformed("a frame of " + Integer.toUnsignedString(length) + " bytes");
    }
    boolean large = type == RESULT || type == DISPLAY;
    if (!large && length > MAX_SMALL && type != ERROR) {
      throw new Malformed("a frame of type %#x with %d bytes".formatted(type, length));
    }
    skipping = (large || type == ERROR) && !room.take(type, length);
    return true;
  }

  private void take(ByteBuffer bytes, int count) {
    if (skipping) {
      bytes.position(bytes.position() + count);
    } else {
      if (filled + count > payload.length) {
        int capacity = Math.max(Math.max(FIRST_CAPACITY, filled + count), payload.length * 2);
        payload = Arrays.copyOf(payload, Math.min(capacity, Math.max(length, FIRST_CAPACITY)));
      }
      bytes.get(payload, filled, count);
    }
    filled += count;
  }

  private KernelEvent finish() throws Malformed {
    int size = length;
    length = -1;
    if (skipping) {
      return new KernelEvent.Skipped(type, size);
    }
    ByteBuffer frame = ByteBuffer.wrap(payload, 0, size).order(ByteOrder.LITTLE_ENDIAN);
    if (payload.length > MAX_SMALL) {
      payload = new byte[0];
    }
    KernelEvent event = decode(frame);
    if (frame.hasRemaining()) {
      throw new Malformed(
          "%d bytes too many in a frame of type %#x".formatted(frame.remaining(), type));
    }
    return event;
  }

  private KernelEvent decode(ByteBuffer frame) throws Malformed {
    return switch (type) {
      case READY -> new KernelEvent.Ready(text(frame), text(frame), text(frame));
      case RESULT -> new KernelEvent.Result(integer(frame), bundle(frame));
      case DISPLAY -> new KernelEvent.Display(integer(frame), bundle(frame));
      case ERROR ->
          new KernelEvent.Failed(
              integer(frame), new CodeError(text(frame), text(frame), text(frame)));
      case DONE -> new KernelEvent.Done(integer(frame), status(frame));
      case PONG -> new KernelEvent.Pong(integer(frame));
      default -> {
        // A newer kernel may say more than we know.
        int size = frame.remaining();
        frame.position(frame.limit());
        yield new KernelEvent.Skipped(type, size);
      }
    };
  }

  private static KernelEvent.Status status(ByteBuffer frame) throws Malformed {
    if (!frame.hasRemaining()) {
      throw new Malformed("a DONE without its status");
    }
    return switch (frame.get()) {
      case 0 -> KernelEvent.Status.OK;
      case 1 -> KernelEvent.Status.ERROR;
      case 2 -> KernelEvent.Status.INTERRUPTED;
      default -> throw new Malformed("a DONE of unknown status");
    };
  }

  /**
   * Forms with an unfit mime type, and those past the most there may be, are left out: any value
   * may offer them.
   */
  private static MimeBundle bundle(ByteBuffer frame) throws Malformed {
    int count = integer(frame);
    if (count < 0 || count > frame.remaining() / (2 * Integer.BYTES)) {
      throw new Malformed("a bundle of " + Integer.toUnsignedString(count) + " items");
    }
    List<MimeBundle.Item> items = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      ByteBuffer mime = field(frame);
      ByteBuffer data = field(frame);
      if (mime.hasRemaining() && mime.remaining() <= MAX_MIME && items.size() < MAX_ITEMS) {
        items.add(
            new MimeBundle.Item(new String(bytes(mime), StandardCharsets.UTF_8), bytes(data)));
      }
    }
    return new MimeBundle(items);
  }

  private static String text(ByteBuffer frame) throws Malformed {
    return new String(bytes(field(frame)), StandardCharsets.UTF_8);
  }

  private static ByteBuffer field(ByteBuffer frame) throws Malformed {
    int size = integer(frame);
    if (size < 0 || size > frame.remaining()) {
      throw new Malformed("a field that is longer than its frame");
    }
    ByteBuffer field = frame.slice(frame.position(), size);
    frame.position(frame.position() + size);
    return field;
  }

  private static byte[] bytes(ByteBuffer field) {
    byte[] bytes = new byte[field.remaining()];
    field.get(bytes);
    return bytes;
  }

  private static int integer(ByteBuffer frame) throws Malformed {
    if (frame.remaining() < Integer.BYTES) {
      throw new Malformed("a frame that ends too early");
    }
    return frame.getInt();
  }

  private static ByteBuffer request(int type, int size) {
    return ByteBuffer.allocate(HEADER + size)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(size)
        .put((byte) type);
  }

  /** The kernel does not speak the protocol. */
  static final class Malformed extends Exception {
    private static final long serialVersionUID = 1L;

    Malformed(String what) {
      super("the kernel sent " + what);
    }
  }

  /** Looks for one PONG in bytes of unknown meaning. */
  private static final class Resync {
    private final int id;
    private final byte[] wanted;
    private int matched;

    Resync(int id) {
      this.id = id;
      this.wanted =
          ByteBuffer.allocate(HEADER + Integer.BYTES)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putInt(Integer.BYTES)
              .put((byte) PONG)
              .putInt(id)
              .array();
    }

    boolean find(ByteBuffer bytes) {
      while (bytes.hasRemaining()) {
        byte next = bytes.get();
        while (matched > 0 && wanted[matched] != next) {
          matched = fallback(matched);
        }
        if (wanted[matched] == next) {
          matched++;
        }
        if (matched == wanted.length) {
          return true;
        }
      }
      return false;
    }

    /** The longest shorter prefix that the bytes matched so far end with. */
    private int fallback(int length) {
      for (int shorter = length - 1; shorter > 0; shorter--) {
        if (Arrays.equals(wanted, 0, shorter, wanted, length - shorter, length)) {
          return shorter;
        }
      }
      return 0;
    }
  }
}
