package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that starts again finds its sandboxes, whatever one of them does. */
@Timeout(60)
final class RecoveryIT extends MachineTests {
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
  void guestThatHasNoRoomForOneMoreIsFoundAndNotWaitedFor() throws Exception {
    NativeMachine machine = (NativeMachine) start();
    String guest = String.valueOf(machine.pid());
    var waiting = new ArrayList<SocketChannel>();
    SandboxLifeIT.signal("-STOP", guest);
    try {
      fillLine(machine, waiting);
      assertThat(recovered(Thread.ofPlatform().daemon().factory())).contains(machine.id());
      assertThat(recovered(Thread.ofVirtual().factory())).contains(machine.id());
    } finally {
      SandboxLifeIT.signal("-CONT", guest);
      for (SocketChannel channel : waiting) {
        channel.close();
      }
    }
    assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void oneThatDoesNotGoIsNoReasonToHaveNoneOfTheOthers() throws Exception {
    List<Machine> machines = List.of(start(), start(), start());
    Machine stuck = machines.get(1);
    Path folder = runDirectory().resolve(stuck.id().value());
    // Nobody is reached there, and with a file that is not the spawn server's it cannot be removed.
    Files.delete(folder.resolve("guest.sock"));
    Path stray = Files.createFile(folder.resolve("stray"));
    Path lib = Path.of(System.getProperty("carrel.lib", ""));
    var settings =
        new EngineSettings(runDirectory(), runDirectory().resolve("volumes"), lib, Set.of());

    try (Engine other =
        new NativeEngine(settings, new SpawnServer(settings, Duration.ofSeconds(2)))) {
      assertThat(other.recover())
          .extracting(Machine::id)
          .containsExactlyInAnyOrder(machines.get(0).id(), machines.get(2).id());
    } finally {
      Files.delete(stray);
    }
  }

  @Test
  void folderWhoseRecordACrashOfTheHostLeftEmptyIsClearedAway() throws Exception {
    Machine kept = start();
    Path torn = runDirectory().resolve(SandboxId.random().value());
    Files.createDirectory(torn);
    Files.createFile(torn.resolve("state"));
    Path lib = Path.of(System.getProperty("carrel.lib", ""));
    // Of other options, so that another spawn server takes over.
    var settings =
        new EngineSettings(runDirectory(), runDirectory().resolve("volumes-2"), lib, Set.of());

    try (Engine other = new NativeEngine(settings, new SpawnServer(settings))) {
      assertThat(other.recover()).extracting(Machine::id).containsExactly(kept.id());
      Eventually.holds("it is cleared away", Duration.ofSeconds(20), () -> Files.notExists(torn));
    }
  }

  private List<SandboxId> recovered(ThreadFactory threads) throws Exception {
    try (Engine other = newEngine()) {
      var recovery = new FutureTask<>(other::recover);
      threads.newThread(recovery).start();
      return recovery.get(10, TimeUnit.SECONDS).stream().map(Machine::id).toList();
    }
  }

  private static void fillLine(NativeMachine machine, List<SocketChannel> waiting)
      throws IOException {
    for (int i = 0; i < MORE_THAN_IT_ACCEPTS; i++) {
      SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
      channel.configureBlocking(false);
      waiting.add(channel);
      try {
        channel.connect(machine.guestAddress());
      } catch (SocketException e) {
        return; // as many as it lets wait
      }
    }
    throw new IllegalStateException("it accepts more");
  }
}
