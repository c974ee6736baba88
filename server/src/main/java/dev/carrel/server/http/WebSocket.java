package dev.carrel.server.http;

import dev.carrel.spi.SandboxException;
import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A WebSocket (RFC 6455). What the client says is either kept for {@link #receive}, or read and
 * dropped. One thread sends and receives, another reads.
 */
public final class WebSocket {
  public static final HeaderName KEY = HeaderNames.create("Sec-WebSocket-Key");
  static final HeaderName VERSION = HeaderNames.create("Sec-WebSocket-Version");

  /** The server ends in order. */
  public static final int NORMAL = 1000;

  /** The client should come back later. */
  public static final int TRY_AGAIN = 1013;

  private static final String MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  private static final int FINAL = 0x80;
  private static final int MASKED = 0x80;
  private static final int CONTINUATION = 0;
  private static final int TEXT = 1;
  private static final int CLOSE = 8;
  private static final int PING = 9;
  private static final int PONG = 10;
  private static final int MAX_CONTROL = 125;
  private static final int MAX_MESSAGE = 64 * 1024;
  private static final int MAX_WAITING = 16;
  private static final int LENGTH_16 = 126;
  private static final int LENGTH_64 = 127;

  private final Connection connection;
  private final ReentrantLock writing = new ReentrantLock();
  private final @Nullable BlockingQueue<Message> heard;

  /**
   * Something that the client said.
   *
   * @param text whether it claims to be UTF-8; nobody has looked
   */
  @SuppressWarnings("ArrayRecordComponent") // read once, never compared
  public record Message(boolean text, byte[] bytes) {}

  private WebSocket(Connection connection, @Nullable BlockingQueue<Message> heard) {
    this.connection = connection;
    this.heard = heard;
  }

  /** Whether the request wants one. */
  static boolean isWanted(Exchange exchange) {
    return exchange
        .header(HeaderNames.UPGRADE)
        .filter(protocol -> protocol.strip().toLowerCase(Locale.ROOT).equals("websocket"))
        .isPresent();
  }

  /**
   * Answers with the switch to the protocol, and reads from now on.
   *
   * @param listening whether what the client says is of interest
   */
  static WebSocket open(Exchange exchange, Connection connection, boolean listening) {
    String key =
        exchange
            .header(KEY)
            .map(String::strip)
            .filter(text -> text.length() == 24)
            .orElseThrow(() -> SandboxException.invalid("Sec-WebSocket-Key", "is missing or bad"));
    if (!exchange.header(VERSION).map(String::strip).orElse("").equals("13")) {
      throw SandboxException.invalid("Sec-WebSocket-Version", "must be 13");
    }
    var socket =
        new WebSocket(connection, listening ? new ArrayBlockingQueue<>(MAX_WAITING) : null);
    String answer =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: "
            + accept(key)
            + "\r\n\r\n";
    socket.write(answer.getBytes(StandardCharsets.US_ASCII));
    connection.watchedBy(socket::read);
    return socket;
  }

  /** Sends a text; its bytes are UTF-8. */
  public void send(byte[] text) {
    frame(TEXT, text);
  }

  /** Waits for the next message; null when the time is over. */
  public @Nullable Message receive(Duration patience) throws InterruptedException {
    if (heard == null) {
      throw new IllegalStateException("nobody listens");
    }
    return heard.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Asks the client for a sign of life. */
  public void ping() {
    frame(PING, new byte[0]);
  }

  public void close(int code, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.US_ASCII);
    frame(CLOSE, ByteBuffer.allocate(2 + text.length).putShort((short) code).put(text).array());
  }

  private void frame(int opcode, byte[] payload) {
    int length = payload.length;
    ByteBuffer frame = ByteBuffer.allocate(length + 10);
    frame.put((byte) (FINAL | opcode));
    if (length <= MAX_CONTROL) {
      frame.put((byte) length);
    } else if (length < 1 << 16) {
      frame.put((byte) LENGTH_16).putShort((short) length);
    } else {
      frame.put((byte) LENGTH_64).putLong(length);
    }
    frame.put(payload).flip();
    byte[] bytes = new byte[frame.remaining()];
    frame.get(bytes);
    write(bytes);
  }

  private void write(byte[] bytes) {
    writing.lock();
    try {
      connection.context().dataWriter().writeNow(BufferData.create(bytes));
    } finally {
      writing.unlock();
    }
  }

  /** Reads until the client closes, goes away or breaks the rules. */
  private void read() {
    DataReader reader = connection.reader();
    var message = new ByteArrayOutputStream();
    boolean text = false;
    while (true) {
      int first = reader.read() & 0xFF;
      int opcode = first & 0x0F;
      int second = reader.read() & 0xFF;
      long length = length(reader, second & ~MASKED);
      boolean control = opcode >= CLOSE;
      // What a client sends must be masked, and is not much, in one frame or in many.
      long most = control ? MAX_CONTROL : MAX_MESSAGE - message.size();
      if ((second & MASKED) == 0 || length > most) {
        return;
      }
      byte[] payload = unmasked(reader, (int) length);
      if (opcode == CLOSE) {
        frame(CLOSE, Arrays.copyOf(payload, Math.min(payload.length, 2)));
        return;
      }
      if (opcode == PING) {
        frame(PONG, payload);
      }
      if (control || heard == null) {
        continue;
      }
      if (opcode != CONTINUATION) {
        message.reset();
        text = opcode == TEXT;
      }
      message.writeBytes(payload);
      if ((first & FINAL) != 0 && !keep(new Message(text, message.toByteArray()))) {
        return;
      }
      if ((first & FINAL) != 0) {
        message.reset();
      }
    }
  }

  private static byte[] unmasked(DataReader reader, int length) {
    byte[] mask = reader.readBytes(4);
    // To read nothing would wait for something.
    byte[] payload = length == 0 ? new byte[0] : reader.readBytes(length);
    for (int i = 0; i < payload.length; i++) {
      payload[i] ^= mask[i % 4];
    }
    return payload;
  }

  /** Waits for room, so that who says more than is answered waits too; false: it is all over. */
  private boolean keep(Message message) {
    try {
      while (heard != null && !heard.offer(message, 1, TimeUnit.SECONDS)) {
        if (!connection.isOpen()) {
          return false;
        }
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static long length(DataReader reader, int first) {
    return switch (first) {
      case LENGTH_16 -> ByteBuffer.wrap(reader.readBytes(2)).getShort() & 0xFFFF;
      // A length that looks negative is far too much.
      case LENGTH_64 -> ByteBuffer.wrap(reader.readBytes(8)).getLong() & Long.MAX_VALUE;
      default -> first;
    };
  }

  /** What a server answers to a client's key. */
  public static String accept(String key) {
    try {
      return Base64.getEncoder()
          .encodeToString(
              MessageDigest.getInstance("SHA-1")
                  .digest((key + MAGIC).getBytes(StandardCharsets.US_ASCII)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-1", e);
    }
  }
}
