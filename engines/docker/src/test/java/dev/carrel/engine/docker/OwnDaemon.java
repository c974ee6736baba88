package dev.carrel.engine.docker;

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

/** A Docker daemon in folders of its own, without a network; it ends with the tests. */
final class OwnDaemon implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(60);
  private static final long STOP_SECONDS = 60;

  private final Path folder;
  private final Process process;
  private final Thread atExit = new Thread(this::end);

  private OwnDaemon(Path folder, Process process) {
    this.folder = folder;
    this.process = process;
  }

  static OwnDaemon start() throws IOException {
    Path folder = Files.createTempDirectory("carrel-daemon-");
    Path settings = folder.resolve("daemon.json");
    Files.writeString(
        settings,
        """
        {"runtimes": {"runsc": {"path": "/usr/bin/runsc",
          "runtimeArgs": ["--network=none", "--host-uds=all"]}}}
        """);
    var command =
        List.of(
            "dockerd",
            "--config-file=" + settings,
            "--data-root=" + folder.resolve("data"),
            "--exec-root=" + folder.resolve("exec"),
            "--host=unix://" + folder.resolve("docker.sock"),
            "--pidfile=" + folder.resolve("pid"),
            "--cgroup-parent=/" + folder.getFileName(),
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    var daemon = new OwnDaemon(folder, process);
    Runtime.getRuntime().addShutdownHook(daemon.atExit);
    try {
      Eventually.holds("the daemon answers", START, daemon::answers);
    } catch (AssertionError e) {
      String log = Files.readString(folder.resolve("log"));
      daemon.close();
      throw new AssertionError(log, e);
    }
    return daemon;
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
    process.destroy();
    try {
      if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws IOException {
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
