package dev.carrel.guest;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The fields of a structured payload from the guest, none of which is believed unseen. */
final class Fields {
  /**
   * The protocol's own; more than Linux opens in one call, for trees that are walked step by step.
   */
  static final int MAX_PATH = 262_144;

  private static final int HEADER = 5;
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final byte[] payload;

  Fields(byte[] payload) throws Malformed {
    this.payload = payload;
    int at = 0;
    while (at < payload.length) {
      if (payload.length - at < HEADER) {
        throw new Malformed("a field's header is cut off");
      }
      int length = lengthAt(at);
      if (length < 0 || length > payload.length - at - HEADER) {
        throw new Malformed("a field of " + Integer.toUnsignedString(length) + " bytes is cut off");
      }
      at += HEADER + length;
    }
  }

  /** Bytes of the payload, for those who add up what an answer costs. */
  int size() {
    return payload.length;
  }

  OptionalLong integer(int tag) throws Malformed {
    int at = find(tag);
    if (at < 0) {
      return OptionalLong.empty();
    }
    if (lengthAt(at) != Long.BYTES) {
      throw new Malformed("field " + tag + " is an integer of " + lengthAt(at) + " bytes");
    }
    return OptionalLong.of((long) LONG.get(payload, at + HEADER));
  }

  /** An integer between the bounds; absent, it is the least. */
  long integer(int tag, long min, long max) throws Malformed {
    long value = integer(tag).orElse(min);
    if (value < min || value > max) {
      throw new Malformed("field " + tag + " is out of range: " + value);
    }
    return value;
  }

  /** A count or size, 0 when absent. */
  long natural(int tag) throws Malformed {
    return integer(tag, 0, Long.MAX_VALUE);
  }

  boolean flag(int tag) throws Malformed {
    return integer(tag, 0, 1) == 1;
  }

  /** An integer between the bounds, or null when absent. */
  @Nullable Integer optional(int tag, int min, int max) throws Malformed {
    return integer(tag).isEmpty() ? null : Integer.valueOf((int) integer(tag, min, max));
  }

  /** Text with whatever is not UTF-8 replaced, or null when absent. */
  @Nullable String text(int tag, int max) throws Malformed {
    byte[] value = bytes(tag);
    if (value == null) {
      return null;
    }
    if (value.length > max) {
      throw new Malformed("field " + tag + " has " + value.length + " bytes, at most " + max);
    }
    return new String(value, StandardCharsets.UTF_8);
  }

  /**
   * Every text with this tag, with whatever is not UTF-8 replaced.
   *
   * @param most bytes of all together
   */
  List<String> texts(int tag, int max, int most) throws Malformed {
    var found = new ArrayList<String>();
    int total = 0;
    for (int at = 0; at < payload.length; at += HEADER + lengthAt(at)) {
      if ((payload[at] & 0xFF) != tag) {
        continue;
      }
      int length = lengthAt(at);
      total += length;
      if (length > max || total > most) {
        throw new Malformed("the fields " + tag + " have more than " + most + " bytes");
      }
      found.add(new String(payload, at + HEADER, length, StandardCharsets.UTF_8));
    }
    return found;
  }

  Name path(int tag) throws Malformed {
    byte[] value = bytes(tag);
    if (value == null || value.length == 0 || value.length > MAX_PATH) {
      throw new Malformed("a path is missing or longer than " + MAX_PATH + " bytes");
    }
    String shown = new String(value, StandardCharsets.UTF_8);
    boolean exact =
        shown.indexOf('\uFFFD') < 0 || Arrays.equals(shown.getBytes(StandardCharsets.UTF_8), value);
    return new Name(shown, exact);
  }

  private byte @Nullable [] bytes(int tag) {
    int at = find(tag);
    return at < 0 ? null : Arrays.copyOfRange(payload, at + HEADER, at + HEADER + lengthAt(at));
  }

  private int find(int tag) {
    for (int at = 0; at < payload.length; at += HEADER + lengthAt(at)) {
      if ((payload[at] & 0xFF) == tag) {
        return at;
      }
    }
    return -1;
  }

  private int lengthAt(int at) {
    return (int) INT.get(payload, at + 1);
  }

  /**
   * A path from the sandbox.
   *
   * @param exact false when it was not UTF-8 and is only for showing
   */
  record Name(String shown, boolean exact) {}
}
