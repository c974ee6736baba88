package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A spawn server that is there and does nothing. */
@Timeout(120)
final class HungSpawnServerIT extends MachineTests {
  private static final Duration PATIENCE = Duration.ofMillis(500);
  private static final int MORE_THAN_IT_ACCEPTS = 512;

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void requestsEndAndSayWhatToDo() throws Exception {
    start();
    long pid = serverPid();
    SpawnServer asked = spawnServer();
    SpawnServer unknown = spawnServer();
    asked.ask(Frame.of(Frame.HELLO));
    signal("STOP", pid);
    try {
      assertThatThrownBy(() -> asked.ask(Frame.of(Frame.HELLO)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("no answer in 500 ms")
          .hasMessageContaining("process " + pid);
      assertThatThrownBy(() -> unknown.ask(Frame.of(Frame.HELLO)))
          .as("one that was not connected yet")
          .isInstanceOf(IOException.class)
          .hasMessageContaining("no answer in 500 ms");
    } finally {
      signal("CONT", pid);
    }
    assertThat(asked.ask(Frame.of(Frame.HELLO))).as("it goes on").hasSize(1);
    asked.close();
    unknown.close();
  }

  @Test
  void requestsEndAlsoWhenNobodyCanConnectAnyMore() throws Exception {
    start();
    long pid = serverPid();
    SpawnServer server = spawnServer();
    var waiting = new ArrayList<SocketChannel>();
    signal("STOP", pid);
    try (var threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
      fillLine(waiting);
      var asked = new ArrayList<Future<List<Frame>>>();
      for (int i = 0; i < 4; i++) {
        asked.add(threads.submit(() -> server.ask(Frame.of(Frame.HELLO))));
      }
      for (Future<List<Frame>> one : asked) {
        assertThatThrownBy(one::get)
            .hasCauseInstanceOf(IOException.class)
            .hasMessageContaining("no answer in 500 ms");
      }
    } finally {
      signal("CONT", pid);
      for (SocketChannel channel : waiting) {
        channel.close();
      }
    }
    assertThat(server.ask(Frame.of(Frame.HELLO))).as("it goes on").hasSize(1);
    server.close();
  }

  private void fillLine(List<SocketChannel> waiting) throws IOException {
    var address = UnixDomainSocketAddress.of(runDirectory().resolve("spawn.sock"));
    for (int i = 0; i < MORE_THAN_IT_ACCEPTS; i++) {
      SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
      channel.configureBlocking(false);
      waiting.add(channel);
      try {
        channel.connect(address);
      } catch (SocketException e) {
        return; // as many as it lets wait
      }
    }
    throw new IllegalStateException("it accepts more");
  }

  private SpawnServer spawnServer() {
    Path lib = Path.of(System.getProperty("carrel.lib", ""));
    return new SpawnServer(
        new EngineSettings(runDirectory(), runDirectory().resolve("volumes"), lib, Set.of()),
        PATIENCE);
  }

  private long serverPid() {
    List<Long> servers = Leftovers.parents(" --run " + runDirectory() + " ");
    assertThat(servers).hasSize(1);
    return servers.getFirst();
  }

  private static void signal(String name, long pid) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, String.valueOf(pid)).start().waitFor();
  }
}
