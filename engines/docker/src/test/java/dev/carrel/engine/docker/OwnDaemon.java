package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.engine.host.HostTree;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.DaemonSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A Docker daemon in folders of its own, without a network: it is there before anything of a class
 * of tests begins and ends after all of it, by when no container may be left.
 */
final class OwnDaemon implements BeforeAllCallback, AfterAllCallback {
  private static final Duration START = Duration.ofSeconds(60);
  private static final long STOP_SECONDS = 60;

  private static final List<Path> PROGRAMS =
      List.of(Path.of("/usr/sbin/dockerd"), Path.of("/usr/bin/dockerd"));

  private final Thread atExit = new Thread(this::end);
  private Path folder = Path.of("");
  private @Nullable Process process;

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    folder = Files.createTempDirectory("carrel-daemon-");
    Path settings = folder.resolve("daemon.json");
    Files.writeString(
        settings,
        """
        {"runtimes": {"runsc": {"path": "/usr/bin/runsc",
          "runtimeArgs": ["--network=none", "--host-uds=all"]}}}
        """);
    var command =
        List.of(
            PROGRAMS.stream().filter(Files::isExecutable).findFirst().orElseThrow().toString(),
            "--config-file=" + settings,
            "--data-root=" + folder.resolve("data"),
            "--exec-root=" + folder.resolve("exec"),
            "--host=unix://" + folder.resolve("docker.sock"),
            "--pidfile=" + folder.resolve("pid"),
            "--cgroup-parent=/" + folder.getFileName(),
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false");
    Runtime.getRuntime().addShutdownHook(atExit);
    var builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile());
    // It looks for other programs by itself, which a user's own path may not show.
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    process = builder.start();
    try {
      Eventually.holds("the daemon answers", START, this::answers);
    } catch (AssertionError e) {
      String log = Files.readString(folder.resolve("log"));
      close();
      throw new AssertionError(log, e);
    }
  }

  @Override
  public void afterAll(ExtensionContext context) throws IOException {
    try {
      assertThat(client().list(Map.of())).isEmpty();
    } finally {
      close();
    }
  }

  DaemonSettings settings() {
    return new DaemonSettings(
        "unix://" + folder.resolve("docker.sock"), Map.of(), Path.of("/nonexistent"));
  }

  Daemon client() {
    return Daemon.of(settings());
  }

  private boolean answers() {
    try {
      client().info();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private void end() {
    Process daemon = process;
    if (daemon == null) {
      return;
    }
    removeContainers();
    daemon.destroy();
    try {
      if (!daemon.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        daemon.descendants().forEach(ProcessHandle::destroyForcibly);
        daemon.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Those of a test that was cut off: one that is paused would outlive the daemon. */
  private void removeContainers() {
    try {
      for (JsonNode container : client().list(Map.of())) {
        client().remove(container.path("Id").asText());
      }
    } catch (IOException e) {
      System.err.println("containers are left: " + e.getMessage());
    }
  }

  private void close() throws IOException {
    end();
    Runtime.getRuntime().removeShutdownHook(atExit);
    removeGroups();
    HostTree.remove(folder);
  }

  /** The daemon leaves the parent of its containers' groups behind. */
  private void removeGroups() throws IOException {
    Path groups = Path.of("/sys/fs/cgroup");
    Files.deleteIfExists(groups.resolve(folder.getFileName()));
    try (Stream<Path> controllers = Files.list(groups)) {
      for (Path controller : controllers.filter(Files::isDirectory).toList()) {
        Files.deleteIfExists(controller.resolve(folder.getFileName()));
      }
    }
  }
}
