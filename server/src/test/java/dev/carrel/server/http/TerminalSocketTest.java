package dev.carrel.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.exec.Exec;
import dev.carrel.control.exec.ExecSettings;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.BoundsTest;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxId;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What terminals over a WebSocket have in common, whatever is said on them. */
@Timeout(90)
class TerminalSocketTest {
  private static final Caller ADA = Caller.user("acme", "ada");
  private static final String SESSION = "flooded";
  private static final String FLOOD = "while :; do echo x; done";
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(5);
  private static final int TEXT = 1;
  private static final int CLOSE = 8;
  private static final int PING = 9;

  private final LiveServer server =
      LiveServer.start(
          LiveServer.settings()
              .withTimes(Duration.ofSeconds(20), KEEP_ALIVE, Duration.ofSeconds(5)),
          defaults -> defaults.withExecs(withoutDisk(defaults.execs())));

  private static ExecSettings withoutDisk(ExecSettings usual) {
    return new ExecSettings(
        usual.defaultTimeout(),
        usual.maxTimeout(),
        usual.maxBackgroundTimeout(),
        usual.maxConcurrent(),
        usual.maxRetained(),
        usual.stdoutChars(),
        usual.stderrChars(),
        DataSize.ofKibibytes(0),
        usual.spillPerSandbox(),
        usual.maxStdin());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void aViewerIsAskedForASignOfLifeWhileAProgramWritesWithoutPause() throws IOException {
    String sandbox = server.sandbox();
    String terminal =
        server.post(sandbox + "/terminals", "{\"command\":\"" + FLOOD + "\"}").header("Location");
    try (var client = new Client(terminal + "/socket")) {
      client.isPinged();
    }
  }

  @Test
  void soIsWhoHasAShellOfItsOwn() throws IOException {
    try (var client = new Client("/v1/terminal/ws")) {
      client.type(FLOOD);
      client.isPinged();
    }
  }

  @Test
  void aShellOfItsOwnLosesNothingOnAClientThatTakesItsTime() throws Exception {
    int much = 8_000_000;
    SandboxId sandbox = server.control().creates().usual(ADA, SESSION).id();
    try (var client = new Client("/v1/terminal/ws")) {
      client.type("head -c " + much + " /dev/zero | tr '\\\\0' x; exit");
      var seen = new AtomicLong();
      Eventually.until(
          "the program waits, or is through",
          () -> {
            Exec shell = server.control().execs().list(ADA, sandbox).getFirst();
            long end = shell.outputEnd();
            return seen.getAndSet(end) == end && end > 500_000;
          });
      long count = 0;
      for (Frame frame = client.next(); frame.opcode != CLOSE; frame = client.next()) {
        if (frame.opcode == TEXT) {
          assertThat(frame.text()).startsWith("{\"type\":\"output\"");
          count += frame.text().chars().filter(c -> c == 'x').count();
        }
      }
      assertThat(count).isGreaterThanOrEqualTo(much);
    }
  }

  @Test
  void aServerThatStopsSaysSoAndEndsShellsThatBelongToTheirSockets() throws Exception {
    String sandbox = server.sandbox();
    var shared = new SandboxId(sandbox.substring(sandbox.lastIndexOf('/') + 1));
    SandboxId own = server.control().creates().usual(ADA, SESSION).id();
    String terminal = server.post(sandbox + "/terminals", "{}").header("Location");
    try (var viewer = new Client(terminal + "/socket");
        var owner = new Client("/v1/terminal/ws")) {
      Thread stopping = Thread.startVirtualThread(() -> server.server().stop());
      assertThat(viewer.closed())
          .isEqualTo("1001 the server stops; the terminal runs on: come back to it");
      assertThat(owner.closed()).isEqualTo("1001 the server stops");
      stopping.join();
    }
    Eventually.until("its shell has ended", () -> !running(own));
    assertThat(running(shared)).isTrue();
  }

  private boolean running(SandboxId sandbox) {
    return server.control().execs().list(ADA, sandbox).stream().anyMatch(Exec::running);
  }

  /** One that reads only when it is told to. */
  private final class Client implements AutoCloseable {
    private final Socket socket = new Socket();
    private final DataInputStream in;

    Client(String path) throws IOException {
      socket.setReceiveBufferSize(64 * 1024);
      socket.setSoTimeout(30_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
      send(
          BoundsTest.head(
                  "GET",
                  path,
                  "X-Session-ID: "
                      + SESSION
                      + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"
                      + "\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
              .getBytes(UTF_8));
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      var head = new StringBuilder();
      while (head.indexOf("\r\n\r\n") < 0) {
        head.append((char) in.readUnsignedByte());
      }
      assertThat(head.toString()).startsWith("HTTP/1.1 101");
    }

    private void send(byte[] bytes) throws IOException {
      socket.getOutputStream().write(bytes);
    }

    void type(String line) throws IOException {
      byte[] text = ("{\"type\":\"input\",\"data\":\"" + line + "\\n\"}").getBytes(UTF_8);
      send(
          ByteBuffer.allocate(6 + text.length)
              .put((byte) 0x81)
              .put((byte) (0x80 | text.length))
              .putInt(0)
              .put(text)
              .array());
    }

    /** The next frame, which is answered if that is what it is for. */
    Frame next() throws IOException {
      int opcode = in.readUnsignedByte() & 0x0F;
      int first = in.readUnsignedByte();
      long length =
          switch (first) {
            case 126 -> in.readUnsignedShort();
            case 127 -> in.readLong();
            default -> first;
          };
      byte[] payload = in.readNBytes((int) length);
      if (opcode == PING) {
        send(new byte[] {(byte) 0x8A, (byte) 0x80, 0, 0, 0, 0});
      }
      return new Frame(opcode, payload);
    }

    /** How the server closes it, as {@code 1000 reason}. */
    String closed() throws IOException {
      Frame frame = next();
      while (frame.opcode != CLOSE) {
        frame = next();
      }
      ByteBuffer payload = ByteBuffer.wrap(frame.payload);
      return payload.getShort() + " " + UTF_8.decode(payload);
    }

    void isPinged() throws IOException {
      long end = System.nanoTime() + KEEP_ALIVE.multipliedBy(4).toNanos();
      while (next().opcode != PING) {
        assertThat(System.nanoTime() - end).as("after the time for a ping").isNegative();
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // read once, never compared
  private record Frame(int opcode, byte[] payload) {
    String text() {
      return new String(payload, UTF_8);
    }
  }
}
