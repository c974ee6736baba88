package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of sandboxes when the spawn server goes away, in any manner. */
@Timeout(60)
final class SpawnServerIT extends MachineTests {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void sandboxesOutliveAKilledServerAndTheNextOneAdoptsThem() {
    Machine machine = start();
    Finished.shell(Guest.of(machine), "echo kept > /workspace/file");
    killServer();

    assertThat(Finished.shell(Guest.of(machine), "cat /workspace/file").stdout())
        .as("it needs no server to run commands")
        .isEqualTo("kept\n");
    assertThat(machine.death()).as("asked of a new server").isEmpty();
    assertThat(start().death()).as("which makes others beside it").isEmpty();
    try (Engine next = newEngine()) {
      assertThat(next.recover()).extracting(Machine::id).contains(machine.id());
    }
    machine.destroy();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void deathWhileNoServerWatchedIsFoundByTheNext() {
    Machine machine = start();
    killServer();
    kill(((NativeMachine) machine).pid());

    assertThat(machine.death()).isPresent();
    assertThat(start().death()).isEmpty();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void endOfAnAdoptedSandboxIsTold() {
    Machine machine = start();
    killServer();
    assertThat(machine.death()).isEmpty();
    kill(((NativeMachine) machine).pid());

    // Newer kernels tell everybody who holds the process, older ones only its parent.
    assertThat(machine.death().orElseThrow().cause())
        .isIn(Machine.Death.Cause.KILLED, Machine.Death.Cause.UNKNOWN);
  }

  @Test
  void pausedSandboxStaysPausedWhenTheServerIsReplaced() {
    Machine machine = start();
    machine.pause();
    long used = machine.usage().cpuNanos();
    killServer();

    assertThat(machine.death()).as("asked of a new server").isEmpty();
    try (Engine next = newEngine()) {
      Machine again = next.recover().getFirst();
      assertThat(again.paused()).isTrue();
      assertThat(again.usage().cpuNanos()).isEqualTo(used);
      again.resume();
      assertThat(Finished.shell(Guest.of(again), "echo on").stdout()).isEqualTo("on\n");
    }
    machine.resume();
  }

  @Test
  void sandboxThatStoodStillOnlyForACopyGoesOnUnderTheNextServer() throws Exception {
    Machine machine = start();
    Cgroup freezer = SandboxLifeIT.cgroup(machine, "freezer");
    String file = freezer.version() == 1 ? "freezer.state" : "cgroup.freeze";
    Files.writeString(freezer.folder().resolve(file), freezer.version() == 1 ? "FROZEN" : "1");
    killServer();

    assertThat(machine.death()).isEmpty();
    assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void requestsThatHitADeadServerAreMadeAgain() {
    start().destroy();
    killServer();

    assertThat(Finished.shell(startGuest(), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void serverOfAnotherBuildIsReplacedAndItsSandboxesStay() throws Exception {
    withCopyOfLib(
        copy -> {
          Machine machine = start();
          long old = serverPid();
          // Bytes after the program's end change its sum and nothing else.
          Files.write(copy.resolve("guest"), new byte[] {1}, StandardOpenOption.APPEND);
          try (Engine other = openEngine(settings(copy))) {
            List<Machine> found = other.recover();

            assertThat(found).extracting(Machine::id).containsExactly(machine.id());
            assertThat(serverPid()).isNotEqualTo(old);
            found.getFirst().destroy();
          }
        });
  }

  @Test
  void serverOfTheSameBuildInAFolderThatIsGoneIsReplaced() throws Exception {
    withCopyOfLib(
        copy -> {
          long old;
          try (Engine moved = openEngine(settings(copy))) {
            Machine machine = moved.start(SandboxId.random(), spec());
            old = serverPid();
            Leftovers.delete(copy);

            List<Machine> found = engine().recover();
            assertThat(found).extracting(Machine::id).containsExactly(machine.id());
            found.getFirst().destroy();
          }
          assertThat(Finished.shell(startGuest(), "ls /opt/carrel/kernels").stdout())
              .contains("python");
          assertThat(serverPid()).isNotEqualTo(old);
        });
  }

  @Test
  void serverWhoseZygotesHaveLoadedAnotherKernelIsReplaced() throws Exception {
    withCopyOfLib(
        copy -> {
          try (Engine before = openEngine(settings(copy))) {
            Machine machine = before.start(SandboxId.random(), spec());
            long old = serverPid();
            try (Engine same = openEngine(settings(copy))) {
              assertThat(same.recover()).hasSize(1);
              assertThat(serverPid()).isEqualTo(old);
            }
            Path kernel = copy.resolve("kernels/python/carrel_kernel/session.py");
            Files.writeString(kernel, "# mended\n", StandardOpenOption.APPEND);

            try (Engine next = openEngine(settings(copy))) {
              assertThat(next.recover()).extracting(Machine::id).containsExactly(machine.id());
              assertThat(serverPid()).isNotEqualTo(old);
              machine.destroy();
            }
          }
        });
  }

  @Test
  void serverEndsWithTheEngineWhenItHasNothingLeft() {
    start().destroy();
    long server = serverPid();
    engine().close();

    Eventually.holds(
        "it is reaped",
        Duration.ofSeconds(5),
        () -> ProcessHandle.of(server).filter(ProcessHandle::isAlive).isEmpty());
  }

  @Test
  void removingTheRunDirectoryEndsWhatNobodyCanReach() throws Exception {
    Path other = Files.createTempDirectory("carrel-");
    Machine machine;
    try (Engine lost =
        openEngine(new EngineSettings(other, other.resolve("volumes"), lib(), allowMissing()))) {
      machine = lost.start(SandboxId.random(), spec());
      Leftovers.delete(other);
    }
    Eventually.holds(
        "sandbox and server are gone",
        Duration.ofSeconds(10),
        () ->
            Leftovers.of(machine.id().value(), runDirectory()).isEmpty()
                && Leftovers.parents(" --run " + other + " ").isEmpty());
  }

  @Test
  void processesThatCloseForTheServerAreStartedAgainWhenTheyAreLost() {
    removeWatched();
    List<Long> lost = closers();
    assertThat(lost).as("there are some once there is something to close").isNotEmpty();
    lost.forEach(pid -> ProcessHandle.of(pid).orElseThrow().destroyForcibly());
    Eventually.holds("they are gone", Duration.ofSeconds(10), () -> closers().isEmpty());

    // The first one after it finds out, and is closed by the server itself.
    removeWatched();
    removeWatched();
    assertThat(closers()).isNotEmpty().doesNotContainAnyElementsOf(lost);
    removeWatched();
  }

  /** Makes a machine that watches its files, and removes it: a watch is slow to close. */
  private void removeWatched() {
    Machine machine = start();
    ExecRequest request =
        ExecRequest.of(Command.shell("echo new > /workspace/file"), Finished.ENVIRONMENT);
    Finished.run(Guest.of(machine), request.withChanges(true));
    machine.destroy();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  /** Those that are alive: of a dead one that nobody asked for yet there is no command line. */
  private List<Long> closers() {
    return ProcessHandle.of(serverPid())
        .orElseThrow()
        .children()
        .map(ProcessHandle::pid)
        .filter(pid -> Leftovers.processes("guest closer").contains(pid))
        .toList();
  }

  private void withCopyOfLib(CopyUser user) throws Exception {
    Path copy = Files.createTempDirectory("carrel-lib-");
    try {
      Process process =
          new ProcessBuilder("cp", "-a", lib() + "/guest", lib() + "/kernels", copy.toString())
              .inheritIO()
              .start();
      assertThat(process.waitFor()).isZero();
      user.use(copy);
    } finally {
      if (Files.exists(copy)) {
        Leftovers.delete(copy);
      }
    }
  }

  private EngineSettings settings(Path lib) {
    return new EngineSettings(
        runDirectory(), runDirectory().resolve("volumes"), lib, allowMissing());
  }

  private interface CopyUser {
    void use(Path copy) throws Exception;
  }

  private static Path lib() {
    return Path.of(System.getProperty("carrel.lib", ""));
  }

  private void killServer() {
    kill(serverPid());
  }

  private static void kill(long pid) {
    ProcessHandle process = ProcessHandle.of(pid).orElseThrow();
    process.destroyForcibly();
    Eventually.holds("it is gone", Duration.ofSeconds(5), () -> !process.isAlive());
  }

  /** The one process that was started with our run directory. */
  private long serverPid() {
    List<Long> servers = Leftovers.parents(" --run " + runDirectory() + " ");
    assertThat(servers).hasSize(1);
    return servers.getFirst();
  }
}
