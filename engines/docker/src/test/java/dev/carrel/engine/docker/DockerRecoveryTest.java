package dev.carrel.engine.docker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Limits;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
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
  private final List<String> containers =
      new CopyOnWriteArrayList<>(
          List.of(container("stuck", SandboxId.random()), container("free", SandboxId.random())));

  @Test
  void aContainerThatCannotBeRemovedKeepsNobodyFromStarting() throws IOException {
    assumeTrue(HostProcess.isRoot(), "an engine for root");
    try (var _ = listen();
        var engine = engine()) {
      assertThat(engine.recover()).isEmpty();
    }
    assertThat(removed).containsExactly("free");
  }

  @Test
  void aStateThatCannotBeReadAtTheMomentIsNoReasonToEndItsMachine() throws IOException {
    assumeTrue(HostProcess.isRoot(), "an engine for root");
    SandboxId id = SandboxId.random();
    containers.add(container("unseen", id));
    Path folder = Files.createDirectory(temporary.resolve(id.value()));
    // Reading it is an error of input and output.
    Files.createSymbolicLink(folder.resolve("docker.properties"), Path.of("/proc/self/mem"));
    try (var _ = listen();
        var engine = engine()) {
      assertThat(engine.recover()).isEmpty();
    }
    assertThat(folder).exists();
    assertThat(removed).containsExactly("free");
  }

  @Test
  void aDaemonThatWasAwayIsAskedAgain() throws IOException {
    try (var engine = engine()) {
      assertThat(engine.capabilities().problems()).anyMatch(p -> p.contains("does not exist"));
      try (var _ = listen()) {
        Eventually.holds(
            "the daemon is heard",
            Duration.ofSeconds(30),
            () ->
                engine.capabilities().problems().stream().noneMatch(p -> p.contains("not exist")));
      }
    }
  }

  @Test
  void aStartThatCameToNothingIsNotRemembered() throws IOException {
    assumeTrue(HostProcess.isRoot(), "an engine for root");
    SandboxId id = SandboxId.random();
    Path folder = temporary.resolve(id.value());
    try (var _ = listen();
        var engine = engine()) {
      var limits = new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(16), 256);
      var spec = new MachineSpec(new RootImage.Host(), limits, null, null);
      assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> engine.start(id, spec));
      assertThat(folder).doesNotExist();
      Files.createDirectory(folder);
      Files.writeString(folder.resolve("docker.properties"), "");

      assertThat(engine.recover()).isEmpty();
    }
    assertThat(folder).doesNotExist();
  }

  private DockerEngine engine() {
    var daemon =
        new DaemonSettings(temporary.resolve("daemon.sock").toString(), Map.of(), temporary);
    return new DockerEngine(
        Kind.NAMESPACES,
        new EngineSettings(
            temporary, temporary, temporary, Set.of(), WarmSettings.defaults(), daemon));
  }

  private ServerSocketChannel listen() throws IOException {
    var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(temporary.resolve("daemon.sock")));
    Thread.startVirtualThread(() -> serve(server));
    return server;
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
            ? "[" + String.join(",", containers) + "]"
            : VERSION);
  }

  private static String container(String name, SandboxId id) {
    return "{\"Id\":\"%s\",\"Labels\":{\"%s\":\"%s\"}}".formatted(name, Labels.SANDBOX, id.value());
  }
}
