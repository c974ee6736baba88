package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The less usual turns in the life of a sandbox and of a connection to the spawn server. */
@Timeout(60)
final class SandboxLifeIT extends MachineTests {
  private static final int CROWD = 200;
  private static final int ENDS = 50;
  private static final int PAUSES = 100;
  private static final Path PID_MAX = Path.of("/proc/sys/kernel/pid_max");

  private static final String ALL_INSTANCES =
      """
      import ctypes, errno
      libc = ctypes.CDLL(None, use_errno=True)
      count = 0
      while libc.inotify_init1(0) >= 0:
          count += 1
      print(count, errno.errorcode[ctypes.get_errno()])
      """;

  private static final String ALL_TERMINALS =
      """
      import errno, os
      kept = []
      try:
          while True:
              kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
      except OSError as error:
          print(len(kept), errno.errorcode[error.errno])
      """;

  /** {@code NS_GET_OWNER_UID}. */
  private static final String MAKER =
      """
      import fcntl, struct, sys
      with open(sys.argv[1]) as namespace:
          print(struct.unpack("I", fcntl.ioctl(namespace, 0xB704, bytes(4)))[0])
      """;

  /** More than 100 MiB in datagrams that nobody takes. */
  private static final String UNREAD =
      """
      import socket
      sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      sender.setblocking(False)
      kept = []
      for _ in range(1000):
          end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
          end.bind(("127.0.0.1", 0))
          kept.append(end)
          for _ in range(4):
              try:
                  sender.sendto(bytes(30000), end.getsockname())
              except OSError:
                  pass
      print("sent")
      """;

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  /** As on a full disk, which must not be able to hold a sandbox for ever. */
  @Test
  void pausedSandboxGoesOnThoughThatCannotBeWrittenDown() throws Exception {
    Machine machine = start();
    machine.pause();
    Path unwritable = runDirectory().resolve(machine.id().value()).resolve("state.new");
    Files.createDirectory(unwritable);

    machine.resume();

    assertThat(machine.paused()).isFalse();
    assertThat(Finished.run(Guest.of(machine), Command.shell("echo on")).stdout())
        .isEqualTo("on\n");
    assertThatExceptionOfType(SandboxException.class).isThrownBy(machine::pause);
    assertThat(machine.paused()).as("a pause that cannot be remembered is none").isFalse();
    Files.delete(unwritable);
  }

  @Test
  void frozenSandboxCanBeDestroyed() throws Exception {
    Machine machine = start();
    Cgroup freezer = cgroup(machine, "freezer");
    String file = freezer.version() == 1 ? "freezer.state" : "cgroup.freeze";
    Files.writeString(freezer.folder().resolve(file), freezer.version() == 1 ? "FROZEN" : "1");

    machine.destroy();

    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  /** Who waits for the child of a vfork, which stands still already, has to as well. */
  @Test
  void whoStartsProgramsAllTheTimeStandsStillAtOnce() {
    Machine machine = start();
    String starts =
        "import os\nwhile True: os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)";
    Command command = Command.of("/usr/bin/python3", "-c", starts);
    try (ExecSession _ =
        Guest.of(machine).exec(ExecId.random(), ExecRequest.of(command, Finished.ENVIRONMENT))) {
      for (int i = 0; i < PAUSES; i++) {
        machine.pause();
        assertThat(machine.paused()).isTrue();
        machine.resume();
      }
    }
  }

  /** The kernel stops nobody who is on the way out already: there is nothing to wait for. */
  @Test
  void pauseOfASandboxThatEndsMeanwhileIsAnswered() {
    for (int i = 0; i < ENDS; i++) {
      Machine machine = start();
      ProcessHandle.of(((NativeMachine) machine).pid()).orElseThrow().destroyForcibly();
      try {
        machine.pause();
      } catch (SandboxException e) {
        assertThat(e.code()).as(e.getMessage()).isEqualTo(ErrorCode.WRONG_STATE);
      }
      machine.destroy();
    }
  }

  @Test
  void smallShareOfACoreSlowsTheCodeAndNotTheStart() {
    var limits = new Limits(DataSize.ofMebibytes(64), 0.02, 32, DataSize.ofMebibytes(4), 256);
    Machine machine = start(withLimits(limits));
    long before = machine.usage().cpuNanos();
    Finished spin =
        Finished.run(
            Guest.of(machine),
            Command.shell("while :; do :; done").withTimeout(Duration.ofSeconds(1)));

    assertThat(spin.exit().timedOut()).isTrue();
    assertThat(machine.usage().cpuNanos() - before).isBetween(1L, Duration.ofMillis(300).toNanos());
    assertThat(machine.limits().cpus()).isEqualTo(0.02);
  }

  @Test
  void moreAtOnceThanTheServerHasConnectionsFor() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var starts = new ArrayList<Future<Machine>>();
      for (int i = 0; i < CROWD; i++) {
        starts.add(threads.submit(() -> start()));
      }
      for (Future<Machine> started : starts) {
        assertThat(started.get().death()).isEmpty();
      }
    }
  }

  @Test
  void createWhoseAskerIsGoneIsUndone() throws Exception {
    start();
    SandboxId id = SandboxId.random();
    String server = String.valueOf(Leftovers.parents(" --run " + runDirectory() + " ").getFirst());
    // Else the sandbox could be ready before we are gone, and stay.
    signal("-STOP", server);
    try (SpawnConnection connection = SpawnConnection.open(socket())) {
      connection.send(Sandbox.request(id, spec().limits()));
    } finally {
      signal("-CONT", server);
    }

    Eventually.holds(
        "nothing of it is left",
        Duration.ofSeconds(10),
        () -> Leftovers.of(id.value(), runDirectory()).isEmpty());
    try (Engine other = newEngine()) {
      assertThat(other.recover()).extracting(Machine::id).doesNotContain(id);
    }
  }

  static void signal(String signal, String process) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder("kill", signal, process).start().waitFor()).isZero();
  }

  @Test
  void sameIdTwiceIsRefusedAndTheFirstStays() {
    Machine machine = start();

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(machine.id(), spec()))
        .withMessageContaining("exists");
    assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void malformedFramesEndTheirConnectionAndNothingElse() throws Exception {
    Machine machine = start();
    List<byte[]> frames =
        List.of(
            new byte[] {-1, -1, -1, -1, 0x62},
            new byte[] {0, 0, 32, 0, 0x62, 1},
            new byte[] {6, 0, 0, 0, 0x62, 10, -1, -1, -1, 127, 1},
            new byte[] {3, 0, 0, 0, 0x62, 10, 0, 0});
    for (byte[] frame : frames) {
      try (SpawnConnection connection = SpawnConnection.open(socket())) {
        connection.sendRaw(ByteBuffer.wrap(frame));
        connection.shutdownOutput();
        connection.awaitEnd();
      }
    }
    try (SpawnConnection connection = SpawnConnection.open(socket())) {
      connection.send(Frame.of(0x6F));
      assertThat(connection.receive().text(Frame.KIND)).isEqualTo("bad_request");
      connection.send(Frame.of(Frame.CREATE).with(Frame.ID, "sb/../../etc"));
      assertThat(connection.receive().text(Frame.KIND)).isEqualTo("bad_request");
      connection.send(Frame.of(Frame.CREATE).with(Frame.ID, "sba").with(Frame.MEMORY, -1));
      assertThat(connection.receive().text(Frame.STEP)).isEqualTo("limits");
      connection.send(Frame.of(Frame.CREATE).with(Frame.ID, "sba").with(Frame.ALLOW_MISSING, "x"));
      assertThat(connection.receive().text(Frame.STEP)).isEqualTo("allow-missing");
    }
    assertThat(machine.death()).isEmpty();
  }

  @Test
  void limitsBelowTheMemoryLimitAreToldAsTheyAre() {
    var asked = new Limits(DataSize.ofMebibytes(64), 1, 32, DataSize.ofMebibytes(1024), 256);
    Machine machine = start(withLimits(asked));

    assertThat(machine.limits().disk()).isEqualTo(DataSize.ofMebibytes(48));
    Finished fill =
        Finished.shell(
            Guest.of(machine),
            "for f in /workspace/f /tmp/f /dev/shm/f; do cat /dev/zero > $f; done; echo alive");
    assertThat(fill.stdout()).as("full is an error, not a kill").isEqualTo("alive\n");
    assertThat(machine.usage().oomKills()).isZero();
  }

  /**
   * What is sent to somebody who never reads it lies in the kernel, where no process pays for it.
   */
  @Test
  void buffersOfSocketsAreBoundedToo() throws Exception {
    DataSize most = DataSize.ofMebibytes(64);
    Machine machine = start(withLimits(new Limits(most, 1, 32, DataSize.ofMebibytes(4), 2048)));
    Finished sent = Finished.run(Guest.of(machine), Command.of("/usr/bin/python3", "-c", UNREAD));
    assertThat(sent.stdout()).as(sent.stderr()).isEqualTo("sent\n");
    Cgroup memory = cgroup(machine, "memory");
    if (memory.version() != 1) {
      return; // counted with all other memory
    }
    assertThat(number(memory, "memory.kmem.tcp.max_usage_in_bytes"))
        .isBetween(most.bytes() / 4 * 3, most.bytes());

    DataSize more = DataSize.ofMebibytes(96);
    machine.limit(new Limits(more, 1, 32, DataSize.ofMebibytes(4), 2048));
    assertThat(number(memory, "memory.kmem.tcp.limit_in_bytes")).isEqualTo(more.bytes());
  }

  @Test
  void allTogetherLeaveRoomForTheHost() throws Exception {
    Machine machine = start();
    Path processes = cgroup(machine, "pids").folder().resolveSibling("pids.max");
    assertThat(Long.parseLong(Files.readString(processes).strip()))
        .isBetween(1L, Long.parseLong(Files.readAllLines(PID_MAX).getFirst()) / 4 * 3);
    Cgroup memory = cgroup(machine, "memory");
    String file = memory.version() == 1 ? "memory.limit_in_bytes" : "memory.max";
    long total =
        Files.readAllLines(Path.of("/proc/meminfo")).stream()
            .filter(line -> line.startsWith("MemTotal:"))
            .mapToLong(
                line -> DataSize.ofKibibytes(Long.parseLong(line.replaceAll("\\D", ""))).bytes())
            .sum();
    assertThat(Long.parseLong(Files.readString(memory.folder().resolveSibling(file)).strip()))
        .isBetween(1L, total / 8 * 7);
  }

  /** The kernel counts what is made in it for this id too: root's share must not be a sandbox's. */
  @Test
  void nobodyElsePaysForWhatIsMadeInAnIsolatedSandbox() throws Exception {
    MachineSpec spec = spec();
    Machine machine =
        start(new MachineSpec(spec.image(), spec.limits(), null, null, true, Rootfs.READ_ONLY));
    long first = firstId(((NativeMachine) machine).pid());

    assertThat(first).isGreaterThan(1 << 30);
    assertThat(maker(((NativeMachine) machine).pid())).isEqualTo(first);
    assertThat(maker(ProcessHandle.current().pid())).as("positive control").isZero();
    assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
  }

  /** Sandboxes of one image share what one user of the host may have. */
  @Test
  void noSandboxWatchesForAllOfItsImage() {
    Finished taken =
        Finished.run(startGuest(), Command.of("/usr/bin/python3", "-c", ALL_INSTANCES));
    assertThat(taken.stdout()).as(taken.stderr()).isEqualTo("32 EMFILE\n");
  }

  /** The kernel has a few thousand terminals for all sandboxes. */
  @Test
  void noSandboxHasTheTerminalsOfMany() {
    Finished taken =
        Finished.run(startGuest(), Command.of("/usr/bin/python3", "-c", ALL_TERMINALS));
    assertThat(taken.stdout()).as(taken.stderr()).isEqualTo("64 ENOSPC\n");
  }

  private static long firstId(long pid) throws IOException {
    return Long.parseLong(
        Files.readString(Path.of("/proc/" + pid + "/uid_map")).strip().split("\\s+", -1)[1]);
  }

  private static long maker(long pid) throws IOException, InterruptedException {
    var asked =
        new ProcessBuilder("/usr/bin/python3", "-c", MAKER, "/proc/" + pid + "/ns/user").start();
    String answer = new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(asked.waitFor()).isZero();
    return Long.parseLong(answer.strip());
  }

  private static long number(Cgroup group, String file) throws IOException {
    return Long.parseLong(Files.readString(group.folder().resolve(file)).strip());
  }

  private Path socket() {
    return runDirectory().resolve("spawn.sock");
  }

  static Cgroup cgroup(Machine machine, String controller) {
    return ((NativeMachine) machine)
        .cgroups().stream()
            .filter(cgroup -> cgroup.controller().equals(controller))
            .findFirst()
            .orElseThrow();
  }
}
