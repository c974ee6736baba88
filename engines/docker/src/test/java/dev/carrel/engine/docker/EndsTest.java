package dev.carrel.engine.docker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is made of the events that a daemon tells. */
@Timeout(60)
final class EndsTest {
  @TempDir Path folder;

  @Test
  void endOfAnEarlierMachineIsNotThatOfTheNextOne() throws IOException {
    SandboxId again = SandboxId.random();
    SandboxId other = SandboxId.random();
    Instant now = Instant.now();
    String events = die(again, now.minusSeconds(60)) + die(other, now.plusSeconds(60));
    Path path = folder.resolve("daemon.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(path));
      Thread.ofVirtual().start(() -> serve(server, events));
      Daemon daemon = Daemon.of(new DaemonSettings(path.toString(), Map.of(), folder));
      try (var ends = new Ends(daemon, Map.of())) {
        ends.expect(again);
        ends.expect(other);
        ends.listen();

        Eventually.holds("the last is heard of", Duration.ofSeconds(20), () -> ended(ends, other));
        assertThat(ended(ends, again)).isFalse();
      }
    }
  }

  private boolean ended(Ends ends, SandboxId id) {
    try {
      return ends.of(MachineFolder.in(Kind.NAMESPACES, folder, id)).isPresent();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String die(SandboxId id, Instant at) {
    return """
        {"Action":"die","timeNano":%d%09d,"Actor":{"Attributes":{"%s":"%s","exitCode":"137"}}}
        """
        .formatted(at.getEpochSecond(), at.getNano(), Labels.SANDBOX, id.value());
  }

  /** A daemon whose containers all run. */
  private static void serve(ServerSocketChannel server, String events) {
    try {
      while (true) {
        SocketChannel connection = server.accept();
        Thread.ofVirtual().start(() -> answer(connection, events));
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  private static void answer(SocketChannel open, String events) {
    try (SocketChannel connection = open) {
      ByteBuffer request = ByteBuffer.allocate(4096);
      while (!text(request).endsWith("\r\n\r\n") && connection.read(request) >= 0) {}
      String asked = text(request);
      String said =
          asked.contains("/version")
              ? "{\"ApiVersion\":\"1.44\",\"MinAPIVersion\":\"1.24\"}"
              : asked.contains("/events") ? events : "{\"State\":{\"Running\":true}}";
      connection.write(ByteBuffer.wrap(("HTTP/1.0 200 OK\r\n\r\n" + said).getBytes(UTF_8)));
      if (said.equals(events)) {
        connection.read(request); // until the other side leaves
      }
    } catch (IOException e) {
      // The other side has left.
    }
  }

  private static String text(ByteBuffer bytes) {
    return UTF_8.decode(bytes.duplicate().flip()).toString();
  }
}
