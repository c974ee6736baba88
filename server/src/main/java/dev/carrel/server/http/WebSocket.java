package dev.carrel.server.http;

import dev.carrel.spi.SandboxException;
import io.helidon.common.buffers.BufferData;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.webserver.ServerConnectionException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A WebSocket (RFC 6455). One thread sends, another reads and hands on what came, or keeps it for
 * {@link #receive}. A client that takes nothing for a while is cut off. After a close nothing is
 * sent any more.
 */
public final class WebSocket {
  public static final HeaderName KEY = HeaderNames.create("Sec-WebSocket-Key");
  public static final HeaderName PROTOCOL = HeaderNames.create("Sec-WebSocket-Protocol");
  static final HeaderName VERSION = HeaderNames.create("Sec-WebSocket-Version");

  /** The server ends in order. */
  public static final int NORMAL = 1000;

  /** The server is about to stop. */
  public static final int GOING_AWAY = 1001;

  /** The client broke the protocol. */
  static final int BROKEN = 1002;

  /** A text that is none. */
  static final int NOT_TEXT = 1007;

  /** The client may not do what it did. */
  public static final int REFUSED = 1008;

  static final int TOO_BIG = 1009;

  /** The server failed. */
  public static final int FAILED = 1011;

  /** The client should come back later. */
  public static final int TRY_AGAIN = 1013;

  static final int MAX_CONTROL = 125;

  private static final String MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  private static final int FINAL = 0x80;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CLOSE = 8;
  private static final int PING = 9;
  private static final int PONG = 10;
  private static final int MAX_REASON = MAX_CONTROL - 2;
  private static final int LENGTH_16 = 126;
  private static final int LENGTH_64 = 127;

  /** Signs of life that may be missed. */
  private static final int MISSED = 3;

  private static final Duration FAREWELL = Duration.ofSeconds(2);
  private static final Logger LOG = LoggerFactory.getLogger(WebSocket.class);

  private final Connection connection;
  private final ReentrantLock writing = new ReentrantLock();
  private final CountDownLatch over = new CountDownLatch(1);
  private volatile boolean closed;
  private volatile long heard = System.nanoTime();
  private volatile boolean delivering;
  private long asked = System.nanoTime();
  private @Nullable Inbox inbox;

  private WebSocket(Connection connection) {
    this.connection = connection;
  }

  /**
   * Takes what a client sends, message by message, on a thread of its own. Returns whether it wants
   * more; if not, it has closed the socket.
   */
  public interface Messages {
    /** UTF-8, and valid. */
    boolean text(WebSocket socket, byte[] utf8);

    boolean binary(WebSocket socket, byte[] bytes);

    /** Bytes of one message. */
    int max();
  }

  /** Something that the client said; a text is UTF-8. */
  @SuppressWarnings("ArrayRecordComponent") // read once, never compared
  public record Message(boolean text, byte[] bytes) {}

  /** For a client that has nothing to say: what it says is dropped. */
  static final Messages DROPPED =
      new Messages() {
        @Override
        public boolean text(WebSocket socket, byte[] utf8) {
          return true;
        }

        @Override
        public boolean binary(WebSocket socket, byte[] bytes) {
          return true;
        }

        @Override
        public int max() {
          return 64 * 1024;
        }
      };

  /** Whether the request wants one. */
  static boolean isWanted(Exchange exchange) {
    return exchange.method().equals("GET")
        && exchange
            .header(HeaderNames.UPGRADE)
            .filter(protocol -> protocol.strip().toLowerCase(Locale.ROOT).equals("websocket"))
            .isPresent();
  }

  /**
   * Answers with the switch to the protocol, and reads from now on.
   *
   * @param headers of the answer, besides those that the protocol wants
   */
  static WebSocket open(
      Exchange exchange, Connection connection, Map<String, String> headers, Messages messages) {
    String key =
        exchange
            .header(KEY)
            .map(String::strip)
            .filter(text -> text.length() == 24)
            .orElseThrow(() -> SandboxException.invalid("Sec-WebSocket-Key", "is missing or bad"));
    if (!exchange.header(VERSION).map(String::strip).orElse("").equals("13")) {
      throw SandboxException.invalid("Sec-WebSocket-Version", "must be 13");
    }
    var socket = new WebSocket(connection);
    socket.inbox = messages instanceof Inbox kept ? kept : null;
    var answer =
        new StringBuilder("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n")
            .append("Connection: Upgrade\r\nSec-WebSocket-Accept: ")
            .append(accept(key))
            .append("\r\n");
    headers.forEach((name, value) -> answer.append(name + ": " + value + "\r\n"));
    socket.write(answer.append("\r\n").toString().getBytes(StandardCharsets.US_ASCII));
    connection.watchedBy(() -> socket.read(messages));
    return socket;
  }

  private void read(Messages messages) {
    var reader = new WebSocketReader(connection.reader(), this, messages);
    try {
      if (!reader.read()) {
        // Bytes that nobody reads would make the system cut the connection before the client has
        // seen why it ends.
        connection.waitingForClient();
        reader.drain();
      }
    } finally {
      over.countDown();
    }
  }

  /** Sends a text; its bytes are UTF-8. */
  public void send(byte[] text) {
    frame(TEXT, ByteBuffer.wrap(text));
  }

  /** Sends bytes; consumes the buffer. */
  public void sendBinary(ByteBuffer bytes) {
    frame(BINARY, bytes);
  }

  /** Waits for the next message; null when the time is over. */
  public @Nullable Message receive(Duration patience) throws InterruptedException {
    if (inbox == null) {
      throw new IllegalStateException("nobody listens");
    }
    return inbox.receive(patience);
  }

  /** Asks the client for a sign of life. */
  public void ping() {
    frame(PING, ByteBuffer.allocate(0));
  }

  /**
   * Whether the client may still be there. Pings it when it has not for a while; one that missed
   * three of these is gone. For one thread.
   *
   * @param patience how long it may be silent before it is asked
   */
  public boolean answers(Duration patience) {
    long now = System.nanoTime();
    if (now - asked >= patience.toNanos() / 2) {
      asked = now;
      ping();
    }
    return silence().compareTo(patience.multipliedBy(MISSED)) <= 0;
  }

  void pong(byte[] payload) {
    frame(PONG, ByteBuffer.wrap(payload));
  }

  /**
   * Says why it ends; nothing is sent after that.
   *
   * @param reason in ASCII; what is too long is cut
   */
  public void close(int code, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.US_ASCII);
    int length = Math.min(text.length, MAX_REASON);
    ByteBuffer payload =
        ByteBuffer.allocate(2 + length).putShort((short) code).put(text, 0, length).flip();
    writing.lock();
    try {
      frame(CLOSE, payload);
      closed = true;
    } finally {
      writing.unlock();
    }
  }

  /** Answers the client's own close, with its code. */
  void answerClose(byte[] payload) {
    writing.lock();
    try {
      frame(CLOSE, ByteBuffer.wrap(payload, 0, Math.min(payload.length, 2)));
      closed = true;
    } finally {
      writing.unlock();
    }
  }

  /** Whether it has said why it ends. */
  public boolean closed() {
    return closed;
  }

  /** As {@link #close}, and gives the client a moment to see it. */
  public void closeAndWait(int code, String reason) {
    close(code, reason);
    try {
      if (!over.await(FAREWELL.toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.debug("a client did not answer the end of its WebSocket");
      }
    } catch (InterruptedException e) {
      // The client has gone, which is what we waited for; or the server stops, which is as good.
      return;
    }
  }

  /** How long nothing has come from the client; zero while what came is being taken. */
  private Duration silence() {
    return delivering ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - heard);
  }

  void heard() {
    heard = System.nanoTime();
  }

  void delivering(boolean now) {
    delivering = now;
    heard();
  }

  private void frame(int opcode, ByteBuffer payload) {
    int length = payload.remaining();
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
      if (closed) {
        return;
      }
      connection.sending();
      try {
        connection.context().dataWriter().writeNow(BufferData.create(bytes));
      } catch (UncheckedIOException e) {
        throw new ServerConnectionException("the client has gone", e);
      } finally {
        connection.sent();
      }
    } finally {
      writing.unlock();
    }
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
