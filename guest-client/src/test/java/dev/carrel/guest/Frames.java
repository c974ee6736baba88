package dev.carrel.guest;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Builds what a guest might send, right or wrong. */
final class Frames {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  static Frames begin() {
    return new Frames();
  }

  /** A frame whose header claims what it likes. */
  Frames claim(int length, int type, byte[] payload) {
    bytes.writeBytes(header(length, type));
    bytes.writeBytes(payload);
    return this;
  }

  /** Bytes that need not be frames at all. */
  Frames bytes(byte[] noise) {
    bytes.writeBytes(noise);
    return this;
  }

  Frames raw(int type, byte[] payload) {
    return claim(payload.length, type, payload);
  }

  Frames raw(int type, String payload) {
    return raw(type, payload.getBytes(StandardCharsets.UTF_8));
  }

  Frames fields(int type, Object... tagsAndValues) {
    var payload = new ByteArrayOutputStream();
    for (int i = 0; i < tagsAndValues.length; i += 2) {
      byte[] value = value(tagsAndValues[i + 1]);
      payload.write((Integer) tagsAndValues[i]);
      payload.writeBytes(integer(value.length, Integer.BYTES));
      payload.writeBytes(value);
    }
    return raw(type, payload.toByteArray());
  }

  Frames started(String id) {
    return fields(Wire.STARTED, 10, id, 11, 2L, 12, 0L);
  }

  Frames exited() {
    return fields(Wire.EXITED, Wire.TAG_CODE, 0L, Wire.TAG_DURATION, 5L);
  }

  Frames entry(String path) {
    return fields(Wire.ENTRY, 50, path, 51, "f", 52, 3L, 53, 0644L, 56, 1_000_000_001L);
  }

  Frames ok() {
    return fields(Wire.OK);
  }

  byte[] bytes() {
    return bytes.toByteArray();
  }

  static byte[] header(int length, int type) {
    byte[] header = new byte[Wire.HEADER];
    ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).putInt(length).put((byte) type);
    return header;
  }

  static byte[] integer(long value, int size) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (value >>> (8 * i));
    }
    return bytes;
  }

  private static byte[] value(Object value) {
    return switch (value) {
      case Long number -> integer(number, Long.BYTES);
      case String text -> text.getBytes(StandardCharsets.UTF_8);
      case byte[] raw -> raw;
      default -> throw new IllegalArgumentException("no field: " + value);
    };
  }
}
