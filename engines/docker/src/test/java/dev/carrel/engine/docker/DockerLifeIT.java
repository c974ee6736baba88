package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.Machine.Death;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the contract cannot know: daemons, their labels and events, other servers, images. */
@Timeout(120)
final class DockerLifeIT extends MachineTests {
  private static final Duration SOON = Duration.ofSeconds(20);

  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  private static Daemon client() {
    return DAEMON.client();
  }

  @Override
  protected DaemonSettings daemon() {
    return DAEMON.settings();
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void containersSayWhoseTheyAre() throws IOException {
    Machine machine = start();

    JsonNode containers = client().list(Map.of("dev.carrel.sandbox", machine.id().value()));

    assertThat(containers).hasSize(1);
    JsonNode labels = containers.get(0).path("Labels");
    assertThat(labels.path("dev.carrel.engine").asText()).isEqualTo("docker");
    assertThat(labels.path("dev.carrel.owner").asText()).isEqualTo(runDirectory().toString());
  }

  @Test
  void containersOfOthersAreLeftAloneAndOwnOnesWithoutAFolderAreRemoved() throws IOException {
    Machine ours = start();
    Path other = Files.createTempDirectory("carrel-");
    Engine others = openEngine(settingsFor(other, DAEMON.settings()));
    Machine theirs = others.start(SandboxId.random(), spec());
    Machine lost = engine().start(SandboxId.random(), spec());
    MachineFolder folder = MachineFolder.in(Kind.NAMESPACES, runDirectory(), lost.id());
    // As after a reboot, which empties the run directory and leaves containers behind.
    folder.remove();

    try (Engine next = newEngine()) {
      assertThat(next.recover()).extracting(Machine::id).containsExactly(ours.id());

      assertThat(client().list(Map.of("dev.carrel.sandbox", lost.id().value()))).isEmpty();
      assertThat(Guest.of(ours).ping().version()).isEqualTo(1);
      assertThat(Guest.of(theirs).ping().version()).isEqualTo(1);
    } finally {
      theirs.destroy();
      others.close();
      Leftovers.delete(other);
    }
  }

  @Test
  void machinesAreFoundAgainWithoutTheDaemon() {
    Machine machine = start();
    engine().close();
    var away = new DaemonSettings("/nonexistent/docker.sock", Map.of(), Path.of("/nonexistent"));

    try (Engine next = openEngine(settingsFor(runDirectory(), away))) {
      assertThat(next.capabilities().usable()).isFalse();
      assertThat(next.capabilities().problems()).anyMatch(p -> p.contains("does not exist"));
      List<Machine> found = next.recover();
      assertThat(found).extracting(Machine::id).containsExactly(machine.id());
      assertThat(Finished.shell(Guest.of(found.getFirst()), "echo on").stdout()).isEqualTo("on\n");
      assertThat(found.getFirst().usage().pids()).isPositive();
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> found.getFirst().destroy())
          .withMessageContaining("/nonexistent/docker.sock");
    }
  }

  @Test
  void machinesAreFoundAgainWhenTheDaemonDoesNotAnswer() throws IOException {
    Machine machine = start();
    engine().close();
    Path silent = Files.createTempFile("carrel-", ".sock");
    var dead = new DaemonSettings(silent.toString(), Map.of(), Path.of("/nonexistent"));

    try (Engine next = openEngine(settingsFor(runDirectory(), dead))) {
      assertThat(next.recover()).extracting(Machine::id).containsExactly(machine.id());
    } finally {
      Files.delete(silent);
    }
  }

  @Test
  void startThatFailedForWantOfADaemonCanBeMadeAgain() throws IOException {
    Path folder = Files.createTempDirectory("carrel-");
    Path link = folder.resolve("docker.sock");
    var moving = new DaemonSettings(link.toString(), Map.of(), Path.of("/nonexistent"));
    SandboxId id = SandboxId.random();
    try (Engine engine = openEngine(settingsFor(runDirectory(), moving))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> engine.start(id, spec()))
          .withMessageContaining("does not exist");
      String host = DAEMON.settings().host();
      Files.createSymbolicLink(link, Path.of(host.substring("unix://".length())));

      Machine machine = engine.start(id, spec());
      assertThat(Guest.of(machine).ping().version()).isEqualTo(1);
      machine.destroy();
    } finally {
      Leftovers.delete(folder);
    }
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
  }

  @Test
  void pausesThatOthersMadeOrEndedAreNoObstacle() throws IOException {
    Machine machine = start();
    machine.pause();
    client().resume("carrel-" + machine.id());
    machine.resume();
    assertThat(Guest.of(machine).ping().version()).isEqualTo(1);

    // As when the answer to a pause is lost.
    client().pause("carrel-" + machine.id());
    machine.pause();
    machine.resume();
    assertThat(machine.paused()).isFalse();
    assertThat(Guest.of(machine).ping().version()).isEqualTo(1);
  }

  @Test
  void containerThatSomebodyRemovedIsAMachineThatWasKilled() throws IOException {
    Machine machine = start();
    client().remove("carrel-" + machine.id());

    Eventually.holds("its death is known", SOON, () -> machine.death().isPresent());

    assertThat(machine.death().orElseThrow().cause()).isEqualTo(Death.Cause.KILLED);
    machine.destroy();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void endForWantOfMemoryIsToldApart() throws IOException {
    var limits = new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(16), 256);
    Machine machine = start(withLimits(limits));
    // Each takes a part only: what counts for a whole of the memory is to be the guest alone.
    String hungry =
        "while [ ! -e go ]; do sleep 0.1; done; exec python3 -c 'import time;"
            + " x = bytearray(12 << 20); time.sleep(60)'";
    String all = "for i in 1 2 3 4 5 6 7 8; do (" + hungry + ") & done; echo ready; wait";
    try (ExecSession _ =
        Guest.of(machine)
            .exec(ExecId.random(), ExecRequest.of(Command.shell(all), Finished.ENVIRONMENT))) {
      Eventually.holds("all are started", SOON, () -> Leftovers.processes("12 << 20").size() >= 9);
      // The kernel looks for whom to kill by size, and the guest is small: so it is named. Those
      // that were started before have no part in that.
      long pid = Leftovers.processes(machine.id().value()).getFirst();
      Files.writeString(Path.of("/proc/" + pid + "/oom_score_adj"), "1000");
      Guest.of(machine).files().write(FileWrite.to("go"), new byte[0]);

      Eventually.holds("its death is known", SOON, () -> machine.death().isPresent());
    }
    assertThat(machine.death().orElseThrow().cause()).isEqualTo(Death.Cause.OUT_OF_MEMORY);
  }

  @Test
  void imageThatSomebodyRemovedIsMadeAgain() throws IOException {
    start().destroy();
    String socket = DAEMON.settings().host().substring("unix://".length());
    String said =
        run(
            "curl -sf --unix-socket "
                + socket
                + " -X POST 'http://docker/v1.41/images/prune?filters=%7B%22dangling%22%3A%5B%22false%22%5D%7D'");
    assertThat(said).contains("carrel-root");

    assertThat(startGuest().ping().version()).isEqualTo(1);
  }

  private static String run(String line) throws IOException {
    Process process = new ProcessBuilder("sh", "-c", line).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      assertThat(process.waitFor()).as(said).isZero();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return said;
  }

  private static EngineSettings settingsFor(Path run, DaemonSettings daemon) {
    return new EngineSettings(
        run,
        run.resolve("volumes"),
        Path.of(System.getProperty("carrel.lib")),
        Set.of(),
        WarmSettings.defaults(),
        daemon);
  }
}
