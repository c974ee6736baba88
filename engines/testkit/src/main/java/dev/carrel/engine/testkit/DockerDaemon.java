package dev.carrel.engine.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A Docker daemon in folders of its own, without a network, that knows runc and runsc. It ends when
 * it is closed, and with this process at the latest; so do its containers, groups and folders.
 */
public final class DockerDaemon implements AutoCloseable {
  private static final Duration START = Duration.ofMinutes(2);
  private static final long STOP_SECONDS = 60;
  private static final int GROUP_DEPTH = 3;

  private static final List<Path> PROGRAMS =
      List.of(Path.of("/usr/sbin/dockerd"), Path.of("/usr/bin/dockerd"));

  private static final Pattern CONTAINER = Pattern.compile("\"Id\":\"([0-9a-f]{64})\"");

  private static final String SETTINGS =
      """
      {"runtimes": {"runsc": {"path": "/usr/bin/runsc",
        "runtimeArgs": ["--network=none", "--host-uds=all"]}}}
      """;

  private final Path folder;
  private final Process process;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Thread atExit = new Thread(this::closeAtExit, "end of the tests' daemon");

  private DockerDaemon(Path folder, Process process) {
    this.folder = folder;
    this.process = process;
  }

  /** Returns once it answers. */
  public static DockerDaemon start() throws IOException {
    Path folder = Files.createTempDirectory("carrel-daemon-");
    Path settings = Files.writeString(folder.resolve("daemon.json"), SETTINGS);
    var builder =
        new ProcessBuilder(
                PROGRAMS.stream().filter(Files::isExecutable).findFirst().orElseThrow().toString(),
                "--config-file=" + settings,
                "--data-root=" + folder.resolve("data"),
                "--exec-root=" + folder.resolve("exec"),
                "--host=unix://" + folder.resolve("docker.sock"),
                "--pidfile=" + folder.resolve("pid"),
                "--cgroup-parent=/" + folder.getFileName(),
                "--bridge=none",
                "--iptables=false",
                "--ip6tables=false")
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile());
    // It looks for other programs by itself, which a user's own path may not show.
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    var daemon = new DockerDaemon(folder, builder.start());
    Runtime.getRuntime().addShutdownHook(daemon.atExit);
    try {
      Eventually.holds("the daemon answers", START, daemon::answers);
      return daemon;
    } catch (AssertionError e) {
      String log = Files.readString(folder.resolve("log"));
      daemon.close();
      throw new AssertionError(log, e);
    }
  }

  /** Its address as clients take it. */
  public String host() {
    return "unix://" + socket();
  }

  /** What it says of its containers, running or not: an array of JSON; {@code []} if none. */
  public String containers() throws IOException {
    return body(ask("GET", "/containers/json?all=1"));
  }

  private Path socket() {
    return folder.resolve("docker.sock");
  }

  private boolean answers() {
    try {
      return ask("GET", "/_ping").contains(" 200 ");
    } catch (IOException e) {
      return false;
    }
  }

  /** The whole answer with its head: whoever speaks HTTP/1.0 gets it in one piece. */
  private String ask(String method, String path) throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket()));
      String request = method + " " + path + " HTTP/1.0\r\nHost: docker\r\n\r\n";
      var bytes = ByteBuffer.wrap(request.getBytes(StandardCharsets.US_ASCII));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      return new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String body(String answer) throws IOException {
    int head = answer.indexOf("\r\n\r\n");
    if (head < 0 || !answer.startsWith("200", answer.indexOf(' ') + 1)) {
      throw new IOException("the daemon answered: " + answer);
    }
    return answer.substring(head + 4).strip();
  }

  @Override
  public void close() throws IOException {
    if (closed.compareAndSet(false, true)) {
      Runtime.getRuntime().removeShutdownHook(atExit);
      end();
    }
  }

  private void closeAtExit() {
    try {
      if (closed.compareAndSet(false, true)) {
        end();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void end() throws IOException {
    try {
      killContainers();
      removeContainers();
    } finally {
      stop();
      unmount();
      removeGroups();
      Leftovers.delete(folder);
    }
  }

  /** The daemon would wait for one that a test stopped or froze, and was cut off before its end. */
  private void killContainers() throws IOException {
    for (Path parent : groups()) {
      // Only its own: elsewhere groups of others go while one looks.
      ProcessGroups.kill(parent, GROUP_DEPTH);
    }
  }

  /** The parents of its containers' groups, one in each hierarchy that there is. */
  private List<Path> groups() throws IOException {
    Path all = Path.of("/sys/fs/cgroup");
    try (Stream<Path> below = Files.list(all)) {
      return Stream.concat(Stream.of(all), below)
          .filter(Files::isDirectory)
          .map(hierarchy -> hierarchy.resolve(folder.getFileName()))
          .filter(Files::isDirectory)
          .toList();
    }
  }

  /** Those of a test that was cut off: one that is paused would outlive the daemon. */
  private void removeContainers() throws IOException {
    if (!process.isAlive() || !Files.exists(socket())) {
      return;
    }
    for (String id :
        CONTAINER.matcher(containers()).results().map(found -> found.group(1)).toList()) {
      ask("DELETE", "/containers/" + id + "?force=1&v=1");
    }
  }

  private void stop() {
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

  /** The host's network namespace stays mounted where a container has been in it. */
  private void unmount() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/mountinfo"))) {
      String place = line.split(" ", -1)[4];
      if (!place.startsWith(folder + "/")) {
        continue;
      }
      try {
        new ProcessBuilder("umount", place).inheritIO().start().waitFor();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** The daemon leaves the parent of its containers' groups behind. */
  private void removeGroups() throws IOException {
    for (Path parent : groups()) {
      Files.deleteIfExists(parent);
    }
  }
}
