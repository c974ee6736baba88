package dev.carrel.engine.docker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.spi.DaemonSettings;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is made of a daemon's words, also of one that is none. */
@Timeout(60)
final class DaemonTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  @TempDir Path folder;

  @Test
  void theNewestVersionThatBothKnowIsSpoken() throws IOException {
    assertThat(agreed("1.41", "1.12")).isEqualTo("1.41");
    assertThat(agreed("1.44", "1.24")).isEqualTo("1.44");
    assertThat(agreed("1.51", "1.24")).isEqualTo("1.44");
    assertThat(agreed("1.60", "1.47")).as("not below its oldest").isEqualTo("1.47");
  }

  @Test
  void daemonThatIsTooOldOrNoneIsSaidSo() {
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> agreed("1.40", "1.12"))
        .withMessageContaining("1.40")
        .withMessageContaining("1.41");
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> agreed("latest", "1.12"))
        .withMessageContaining("latest");
  }

  @Test
  void missingSocketIsAnObstacle() {
    Daemon daemon =
        Daemon.of(new DaemonSettings(folder.resolve("none.sock").toString(), Map.of(), folder));

    assertThat(daemon.obstacle()).contains("none.sock does not exist").contains("docker.host");
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(daemon::info)
        .withMessageContaining("none.sock");
  }

  @Test
  void answersComeWholeAndRefusalsWithTheirReason() throws Exception {
    assertThat(answerTo("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"x\":1}", LONG))
        .isEqualTo("200 {\"x\":1}");
    assertThat(answerTo("HTTP/1.1 404 Not Found\r\n\r\nno", LONG)).isEqualTo("404 no");
  }

  @Test
  void strangersAndSilenceAreErrors() {
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> answerTo("SSH-2.0-OpenSSH\r\n", LONG))
        .withMessageContaining("HTTP");
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> answerTo("HTTP/1.0 200 OK\r\nA", LONG))
        .withMessageContaining("hung up");
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> answerTo("", Duration.ofMillis(200)))
        .withMessageContaining("no answer");
  }

  @Test
  void anAnswerThatDoesNotBeginIsGivenUp() throws Exception {
    Path path = folder.resolve("daemon.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(path));
      Thread daemon = Thread.ofVirtual().start(() -> serve(server, ""));
      var socket = new DaemonSocket(path);

      assertThatExceptionOfType(IOException.class)
          .isThrownBy(() -> socket.open("GET", "/events", Duration.ofMillis(200)))
          .withMessageContaining("no answer");
      daemon.join(); // the other side has hung up
    }
  }

  @Test
  void outputOfAContainerIsUnwrapped() {
    ByteBuffer framed = ByteBuffer.allocate(64);
    framed.putInt(1 << 24).putInt(4).put("one\n".getBytes(UTF_8));
    framed.putInt(2 << 24).putInt(4).put("two\n".getBytes(UTF_8));
    framed.putInt(2 << 24).putInt(100).put("cut".getBytes(UTF_8));
    byte[] bytes = new byte[framed.flip().remaining()];
    framed.get(bytes);

    assertThat(LogFrames.text(bytes)).isEqualTo("one\ntwo\n");
    assertThat(LogFrames.text(new byte[0])).isEmpty();
  }

  private static String agreed(String newest, String oldest) throws IOException {
    String json = "{\"ApiVersion\":\"%s\",\"MinAPIVersion\":\"%s\"}".formatted(newest, oldest);
    return Daemon.agree(new ObjectMapper().readTree(json)).toString();
  }

  /** What a client makes of a daemon that says this and hangs up, or says nothing. */
  private String answerTo(String text, Duration most) throws Exception {
    Path path = folder.resolve("daemon.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(path));
      Thread daemon = Thread.ofVirtual().start(() -> serve(server, text));
      try {
        DaemonSocket.Reply reply =
            new DaemonSocket(path).send("GET", "/x", "application/json", new byte[0], most);
        return reply.status() + " " + new String(reply.body(), UTF_8);
      } finally {
        daemon.join();
      }
    } finally {
      Files.delete(path);
    }
  }

  private static void serve(ServerSocketChannel server, String text) {
    try (var connection = server.accept()) {
      ByteBuffer request = ByteBuffer.allocate(4096);
      while (!new String(request.array(), 0, request.position(), UTF_8).endsWith("\r\n\r\n")
          && connection.read(request) >= 0) {}
      if (!text.isEmpty()) {
        connection.write(ByteBuffer.wrap(text.getBytes(UTF_8)));
      } else {
        connection.read(request); // until the other side gives up
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
