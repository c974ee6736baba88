package dev.carrel.egress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The first message of a TLS client.
 *
 * @param serverName null: it names none
 * @param hidden whether it has an encrypted hello within it, or pretends to
 * @param size of the records that it came in
 */
record ClientHello(@Nullable String serverName, boolean hidden, int size) {
  private static final int RECORD_HEADER = 5;
  private static final int MESSAGE_HEADER = 4;
  private static final byte HANDSHAKE = 22;
  private static final byte CLIENT_HELLO = 1;
  private static final int MAX_RECORD = 16 * 1024 + 256;
  private static final int MAX_BYTES = 32 * 1024;
  private static final int RANDOM = 32;
  private static final int SERVER_NAME = 0;
  private static final int ENCRYPTED_CLIENT_HELLO = 0xfe0d;

  /** Reads it without using it up; it may be spread over records. */
  static ClientHello read(Wire wire) throws IOException, RefusedException {
    var message = new ByteArrayOutputStream();
    int at = 0;
    while (true) {
      require(wire, at + RECORD_HEADER);
      ByteBuffer input = wire.input();
      int record = input.position() + at;
      int length = input.getShort(record + 3) & 0xffff;
      if (input.get(record) != HANDSHAKE
          || input.get(record + 1) != 3
          || length == 0
          || length > MAX_RECORD
          || at + RECORD_HEADER + length > MAX_BYTES) {
        throw RefusedException.malformed("the TLS hello cannot be read");
      }
      require(wire, at + RECORD_HEADER + length);
      input = wire.input();
      byte[] part = new byte[length];
      input.get(input.position() + at + RECORD_HEADER, part);
      message.writeBytes(part);
      at += RECORD_HEADER + length;
      if (message.size() >= MESSAGE_HEADER) {
        ByteBuffer bytes = ByteBuffer.wrap(message.toByteArray());
        int start = bytes.getInt();
        int size = start & 0xffffff;
        if (start >>> 24 != CLIENT_HELLO || bytes.remaining() > size || size > MAX_BYTES) {
          throw RefusedException.malformed("the TLS hello cannot be read");
        }
        if (bytes.remaining() == size) {
          return parse(bytes, at);
        }
      }
    }
  }

  private static void require(Wire wire, int bytes) throws IOException, RefusedException {
    if (!wire.fill(bytes)) {
      throw RefusedException.malformed("the TLS hello is cut off");
    }
  }

  /**
   * @param bytes what follows the message's header
   */
  static ClientHello parse(ByteBuffer bytes, int recordsSize) throws RefusedException {
    try {
      bytes.getShort(); // version
      skip(bytes, RANDOM);
      skip(bytes, bytes.get() & 0xff); // session
      skip(bytes, bytes.getShort() & 0xffff); // ciphers
      skip(bytes, bytes.get() & 0xff); // compressions
      if (!bytes.hasRemaining()) {
        return new ClientHello(null, false, recordsSize);
      }
      if ((bytes.getShort() & 0xffff) != bytes.remaining()) {
        throw RefusedException.malformed("the TLS hello cannot be read");
      }
      return extensions(bytes, recordsSize);
    } catch (BufferUnderflowException | IndexOutOfBoundsException | IllegalArgumentException e) {
      throw RefusedException.malformed("the TLS hello cannot be read");
    }
  }

  private static ClientHello extensions(ByteBuffer bytes, int recordsSize) throws RefusedException {
    String name = null;
    boolean hidden = false;
    while (bytes.hasRemaining()) {
      int type = bytes.getShort() & 0xffff;
      int length = bytes.getShort() & 0xffff;
      if (type == SERVER_NAME) {
        if (name != null) {
          throw new RefusedException(Reason.TLS_NAME, "the TLS hello names two hosts");
        }
        name = serverName(bytes.slice(bytes.position(), length));
      }
      hidden |= type == ENCRYPTED_CLIENT_HELLO;
      skip(bytes, length);
    }
    return new ClientHello(name, hidden, recordsSize);
  }

  private static String serverName(ByteBuffer list) throws RefusedException {
    int size = list.getShort() & 0xffff;
    int type = list.get();
    int length = list.getShort() & 0xffff;
    if (size != length + 3 || type != 0 || list.remaining() != length) {
      throw new RefusedException(Reason.TLS_NAME, "the TLS hello does not name one host");
    }
    byte[] name = new byte[length];
    list.get(name);
    return new String(name, StandardCharsets.ISO_8859_1);
  }

  private static void skip(ByteBuffer bytes, int count) {
    bytes.position(bytes.position() + count);
  }
}
