package dev.carrel.server.http;

import io.helidon.common.buffers.DataReader;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Puts together what a client sends, as strictly as RFC 6455 has it. For one thread. */
final class WebSocketReader {
  private static final int FINAL = 0x80;
  private static final int RESERVED = 0x70;
  private static final int MASKED = 0x80;
  private static final int CONTINUED = 0;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CLOSE = 8;
  private static final int PING = 9;
  private static final int PONG = 10;
  private static final int LENGTH_16 = 126;
  private static final int LENGTH_64 = 127;
  private static final int MASK = 4;
  private static final long MAX_DROPPED = 64L * 1024 * 1024;

  private final DataReader reader;
  private final WebSocket socket;
  private final WebSocket.Messages messages;
  private final ByteArrayOutputStream begun = new ByteArrayOutputStream();
  private int kind;
  private boolean ended;
  private boolean unwanted;

  WebSocketReader(DataReader reader, WebSocket socket, WebSocket.Messages messages) {
    this.reader = reader;
    this.socket = socket;
    this.messages = messages;
  }

  /**
   * Reads until the client closes, goes away or breaks the rules.
   *
   * @return whether the client closed; if not, it has been told why this ends
   */
  boolean read() {
    try {
      while (!ended) {
        frame();
        socket.heard();
      }
      return !unwanted;
    } catch (Violation e) {
      socket.close(e.code, e.reason);
      return false;
    }
  }

  /** Reads and drops what still comes, until the client has gone or it is far too much. */
  void drain() {
    for (long dropped = 0; dropped < MAX_DROPPED; ) {
      reader.ensureAvailable();
      int available = reader.available();
      reader.skip(available);
      dropped += available;
    }
  }

  private void frame() throws Violation {
    int first = reader.read() & 0xFF;
    int second = reader.read() & 0xFF;
    int opcode = first & 0x0F;
    boolean last = (first & FINAL) != 0;
    long length = length(second & ~MASKED);
    if ((first & RESERVED) != 0 || (second & MASKED) == 0) {
      throw new Violation(WebSocket.BROKEN, "frames must be masked and without extensions");
    }
    if (opcode >= CLOSE && (!last || length > WebSocket.MAX_CONTROL)) {
      throw new Violation(WebSocket.BROKEN, "a control frame must be whole and short");
    }
    // Before anything of it is read: whoever announces too much need not be listened to.
    if (opcode < CLOSE && begun.size() + length > messages.max()) {
      throw new Violation(WebSocket.TOO_BIG, "a message has at most " + messages.max() + " bytes");
    }
    byte[] payload = payload((int) length);
    switch (opcode) {
      case CONTINUED, TEXT, BINARY -> data(opcode, last, payload);
      case PING -> socket.pong(payload);
      case PONG -> {}
      case CLOSE -> {
        ended = true;
        socket.answerClose(payload);
      }
      default -> throw new Violation(WebSocket.BROKEN, "a frame of an unknown kind");
    }
  }

  private void data(int opcode, boolean last, byte[] payload) throws Violation {
    boolean goesOn = opcode == CONTINUED;
    if (goesOn != (kind != 0)) {
      throw new Violation(WebSocket.BROKEN, "a message within a message, or the rest of none");
    }
    kind = goesOn ? kind : opcode;
    if (last && !goesOn) {
      deliver(payload);
      return;
    }
    begun.writeBytes(payload);
    if (last) {
      byte[] whole = begun.toByteArray();
      begun.reset();
      deliver(whole);
    }
  }

  private void deliver(byte[] message) throws Violation {
    boolean text = kind == TEXT;
    kind = 0;
    if (text && !isUtf8(message)) {
      throw new Violation(WebSocket.NOT_TEXT, "a text must be UTF-8");
    }
    socket.delivering(true);
    try {
      boolean more = text ? messages.text(socket, message) : messages.binary(socket, message);
      if (!more) {
        unwanted = true;
        ended = true;
      }
    } finally {
      socket.delivering(false);
    }
  }

  private byte[] payload(int length) {
    byte[] mask = reader.readBytes(MASK);
    // To read nothing would wait for something.
    byte[] payload = length == 0 ? new byte[0] : reader.readBytes(length);
    for (int i = 0; i < payload.length; i++) {
      payload[i] ^= mask[i % MASK];
    }
    return payload;
  }

  private long length(int first) {
    return switch (first) {
      case LENGTH_16 -> ByteBuffer.wrap(reader.readBytes(2)).getShort() & 0xFFFF;
      // A length that looks negative is far too much.
      case LENGTH_64 -> Math.min(longLength(), Integer.MAX_VALUE);
      default -> first;
    };
  }

  private long longLength() {
    long length = ByteBuffer.wrap(reader.readBytes(8)).getLong();
    return length < 0 ? Long.MAX_VALUE : length;
  }

  private static boolean isUtf8(byte[] bytes) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      return true;
    } catch (CharacterCodingException e) {
      return false;
    }
  }

  /** The client broke the rules. */
  private static final class Violation extends Exception {
    private static final long serialVersionUID = 1L;
    final int code;
    final String reason;

    Violation(int code, String reason) {
      super(reason, null, false, false);
      this.code = code;
      this.reason = reason;
    }
  }
}
