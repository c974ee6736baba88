package dev.carrel.egress;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** TLS hellos as clients send them, and as they should not. */
final class Hellos {
  static final int ECH = 0xfe0d;

  private Hellos() {}

  /** One that names this host, in one record. */
  static byte[] naming(String host) {
    return record(message(extension(0, names(host))));
  }

  static byte[] naming(String host, byte[] further) {
    return record(message(join(extension(0, names(host)), further)));
  }

  static byte[] nameless() {
    return record(message(extension(10, new byte[] {0, 2, 0, 29})));
  }

  /** The same message in many records. */
  static byte[] spread(String host, int bytesEach) {
    byte[] message = message(extension(0, names(host)));
    byte[] all = new byte[0];
    for (int at = 0; at < message.length; at += bytesEach) {
      int size = Math.min(bytesEach, message.length - at);
      byte[] part = new byte[size];
      System.arraycopy(message, at, part, 0, size);
      all = join(all, record(part));
    }
    return all;
  }

  /** A server's wish for another hello. */
  static byte[] retry() {
    return record(
        ByteBuffer.allocate(44)
            .putInt(2 << 24 | 40)
            .putShort((short) 0x303)
            .put(
                HexFormat.of()
                    .parseHex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"))
            .array());
  }

  static byte[] extension(int type, byte[] content) {
    return ByteBuffer.allocate(4 + content.length)
        .putShort((short) type)
        .putShort((short) content.length)
        .put(content)
        .array();
  }

  static byte[] names(String... hosts) {
    byte[] list = new byte[0];
    for (String host : hosts) {
      byte[] name = host.getBytes(StandardCharsets.ISO_8859_1);
      list =
          join(
              list,
              ByteBuffer.allocate(3 + name.length)
                  .put((byte) 0)
                  .putShort((short) name.length)
                  .put(name)
                  .array());
    }
    return ByteBuffer.allocate(2 + list.length).putShort((short) list.length).put(list).array();
  }

  static byte[] message(byte[] extensions) {
    int size = 2 + 32 + 1 + 4 + 2 + 2 + extensions.length;
    return ByteBuffer.allocate(4 + size)
        .putInt(1 << 24 | size)
        .putShort((short) 0x303)
        .put(new byte[32])
        .put((byte) 0)
        .putShort((short) 2)
        .putShort((short) 0x1301)
        .put((byte) 1)
        .put((byte) 0)
        .putShort((short) extensions.length)
        .put(extensions)
        .array();
  }

  static byte[] record(byte[] content) {
    return ByteBuffer.allocate(5 + content.length)
        .put((byte) 22)
        .putShort((short) 0x301)
        .putShort((short) content.length)
        .put(content)
        .array();
  }

  static byte[] join(byte[] one, byte[] two) {
    return ByteBuffer.allocate(one.length + two.length).put(one).put(two).array();
  }
}
