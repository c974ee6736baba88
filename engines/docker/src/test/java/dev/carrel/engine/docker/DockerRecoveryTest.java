package dev.carrel.engine.docker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What an earlier server left, with a daemon of this test's own. */
@Timeout(60)
final class DockerRecoveryTest {
  private static final String VERSION = "{\"ApiVersion\":\"1.44\",\"MinAPIVersion\":\"1.24\"}";

  @TempDir private Path temporary;
  private final List<String> removed = new CopyOnWriteArrayList<>();

  @Test
  void aContainerThatCannotBeRemovedKeepsNobodyFromStarting() throws IOException {
    assumeTrue(HostProcess.isRoot(), "an engine for root");
    Path socket = temporary.resolve("daemon.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      Thread.startVirtualThread(() -> serve(server));
      var daemon = new DaemonSettings(socket.toString(), Map.of(), temporary);
      var settings =
          new EngineSettings(
              temporary, temporary, temporary, Set.of(), WarmSettings.defaults(), daemon);
      try (var engine = new DockerEngine(Kind.NAMESPACES, settings)) {
        assertThat(engine.recover()).isEmpty();
      }
    }
    assertThat(removed).containsExactly("free");
  }

  private void serve(ServerSocketChannel server) {
    try {
      while (true) {
        try (SocketChannel connection = server.accept()) {
          ByteBuffer request = ByteBuffer.allocate(4096);
          connection.read(request);
          String said = answer(UTF_8.decode(request.flip()).toString());
          connection.write(ByteBuffer.wrap(said.getBytes(UTF_8)));
        }
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  private String answer(String request) {
    if (request.startsWith("DELETE ") && request.contains("/containers/stuck?")) {
      return "HTTP/1.0 500 No\r\n\r\n{\"message\":\"device or resource busy\"}";
    }
    if (request.startsWith("DELETE ")) {
      removed.add(request.replaceAll("(?s).*/containers/(\\w+)\\?.*", "$1"));
      return "HTTP/1.0 204 Gone\r\n\r\n";
    }
    return "HTTP/1.0 200 OK\r\n\r\n"
        + (request.contains("/containers/json")
            ? "[" + container("stuck") + "," + container("free") + "]"
            : VERSION);
  }

  private static String container(String name) {
    return "{\"Id\":\"%s\",\"Labels\":{\"%s\":\"%s\"}}"
        .formatted(name, Labels.SANDBOX, SandboxId.random().value());
  }
}
