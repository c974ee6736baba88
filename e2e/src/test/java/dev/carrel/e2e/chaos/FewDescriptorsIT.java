package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.e2e.Box;
import dev.carrel.engine.testkit.Eventually;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of a server that may open no further file. */
class FewDescriptorsIT {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int FREE = 16;
  private static final int ENOUGH = 1024;

  @TempDir private Path folder;

  @Test
  void whoComesTooManyWaitsAndCutsNobodyOff() throws Exception {
    try (World world = new World(folder, Map.of());
        Box box = world.api().create("{\"ephemeral\": true}")) {
      long pid = endpoint().pid;
      try (Stream<Path> open = Files.list(Path.of("/proc", String.valueOf(pid), "fd"))) {
        limit(pid, open.count() + FREE);
      }
      List<Socket> silent = new ArrayList<>();
      try {
        for (int i = 0; i < 2 * FREE; i++) {
          silent.add(new Socket(InetAddress.getLoopbackAddress(), endpoint().port));
        }
        Eventually.holds(
            "somebody had to wait", PATIENCE, () -> logged("nobody is let in just now"));
      } finally {
        for (Socket socket : silent) {
          socket.close();
        }
      }
      limit(pid, ENOUGH);
      assertThat(world.serverRuns()).isTrue();
      assertThat(box.shell("echo there")).isEqualTo("there\nexit 0");
    }
  }

  private boolean logged(String words) {
    try {
      return Files.readString(folder.resolve("data/carrel.log")).contains(words);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Endpoint(long pid, int port) {}

  private Endpoint endpoint() throws IOException {
    var properties = new Properties();
    try (var reader = Files.newBufferedReader(folder.resolve("data/endpoint"))) {
      properties.load(reader);
    }
    String address = properties.getProperty("address");
    return new Endpoint(
        Long.parseLong(properties.getProperty("pid")),
        Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)));
  }

  private static void limit(long pid, long files) throws IOException, InterruptedException {
    Process prlimit =
        new ProcessBuilder("prlimit", "--pid", String.valueOf(pid), "--nofile=%d:".formatted(files))
            .inheritIO()
            .start();
    assertThat(prlimit.waitFor()).isZero();
  }
}
