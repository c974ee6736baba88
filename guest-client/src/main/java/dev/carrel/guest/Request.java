package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** One structured frame on its way to the guest. */
final class Request {
  private static final int FIELD_HEADER = 5;

  private ByteBuffer frame = ByteBuffer.allocate(256).order(ByteOrder.LITTLE_ENDIAN);

  Request(int type) {
    frame.putInt(0).put((byte) type);
  }

  Request put(int tag, long value) {
    field(tag, Long.BYTES).putLong(value);
    return this;
  }

  Request put(int tag, boolean flag) {
    return put(tag, flag ? 1 : 0);
  }

  Request put(int tag, byte[] value) {
    field(tag, value.length).put(value);
    return this;
  }

  /**
   * @param name of the field as the caller knows it, for the message when it has no UTF-8 form
   */
  Request put(int tag, String name, String value) {
    return put(tag, Checks.text(name, value));
  }

  Request path(int tag, String name, String path) {
    return put(tag, name, Checks.path(name, path));
  }

  /** The whole frame, ready to be written. */
  ByteBuffer frame() {
    frame.putInt(0, frame.position() - Wire.HEADER);
    return frame.duplicate().flip();
  }

  private ByteBuffer field(int tag, int length) {
    long needed = (long) frame.position() + FIELD_HEADER + length;
    if (needed - Wire.HEADER > Wire.MAX_PAYLOAD) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE,
          "the request is larger than " + Wire.MAX_PAYLOAD + " bytes, the most a guest takes");
    }
    if (needed > frame.capacity()) {
      int capacity = (int) Math.max(needed, 2L * frame.capacity());
      frame =
          ByteBuffer.wrap(Arrays.copyOf(frame.array(), capacity))
              .order(ByteOrder.LITTLE_ENDIAN)
              .position(frame.position());
    }
    return frame.put((byte) tag).putInt(length);
  }
}
