package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.egress.ProxyFixture.Client;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sandboxes that connect as fast as they can. */
@Timeout(60)
final class FloodTest {
  private static final Duration A_WHILE = Duration.ofSeconds(2);
  private static final int MANY = 1000;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @Test
  void whoComesWithoutEndKeepsNobodyFromTheirTurn() throws IOException, InterruptedException {
    int gates = 2 * Runtime.getRuntime().availableProcessors();
    Path folder = Files.createTempDirectory(Path.of("/tmp"), "fl");
    var over = new AtomicBoolean();
    var came = new AtomicLong();
    var sandboxes = new ArrayList<Thread>();
    try (var fixture = new ProxyFixture()) {
      for (int i = 0; i < gates; i++) {
        Path socket = folder.resolve(i + ".sock");
        fixture.proxy().open("sb" + i, socket, _ -> {});
        for (int j = 0; j < 4; j++) {
          sandboxes.add(Thread.ofPlatform().daemon().start(() -> flood(socket, over, came)));
        }
      }
      long end = System.nanoTime() + A_WHILE.toNanos();
      while (System.nanoTime() < end || came.get() < MANY) {
        long begin = System.nanoTime();
        assertThat(fixture.ask("GET http://%s/ HTTP/1.1\r\n\r\n".formatted(web(fixture))))
            .startsWith("HTTP/1.1");
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(PATIENCE);
      }
    } finally {
      over.set(true);
      for (Thread sandbox : sandboxes) {
        sandbox.join(TimeUnit.SECONDS.toMillis(10));
      }
      try (var left = Files.list(folder)) {
        for (Path path : left.toList()) {
          Files.deleteIfExists(path);
        }
      }
      Files.delete(folder);
    }
  }

  /** With nothing allowed, and without a byte said. */
  @Test
  void sandboxesOfOneTenantLeaveConnectionsToOthers() throws IOException {
    Path folder = Files.createTempDirectory(Path.of("/tmp"), "fl");
    var held = new ArrayList<Client>();
    try (var fixture = new ProxyFixture(settings -> settings.withMaxTotalConnections(8))) {
      fixture.gate().owner("quiet");
      for (int i = 0; i < 2; i++) {
        Path socket = folder.resolve(i + ".sock");
        fixture.proxy().open("sb" + i, socket, _ -> {}).owner("greedy");
        for (int j = 0; j < 8; j++) {
          held.add(new Client(SocketChannel.open(UnixDomainSocketAddress.of(socket))));
        }
        assertThat(held.getLast().rest()).startsWith("HTTP/1.1 503");
      }
      for (int i = 0; i < 3; i++) {
        String here = web(fixture);
        assertThat(fixture.ask("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(here, here)))
            .startsWith("HTTP/1.1 200");
      }
    } finally {
      for (Client client : held) {
        client.close();
      }
      Files.delete(folder);
    }
  }

  private static String web(ProxyFixture fixture) {
    return fixture.web(ProxyFixture.WEB);
  }

  private static void flood(Path socket, AtomicBoolean over, AtomicLong came) {
    while (!over.get()) {
      try {
        SocketChannel.open(UnixDomainSocketAddress.of(socket)).close();
        came.incrementAndGet();
      } catch (IOException e) {
        return; // its gate is closed
      }
    }
  }
}
