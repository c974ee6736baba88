package dev.carrel.engine.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * What every engine promises. Extend it, answer the hooks, and an engine is as good as its green.
 *
 * <p>A promise about isolation holds where the machine reports the measure as applied; where it
 * does not, the test holds the engine to having said so, and nothing is skipped.
 */
public abstract class EngineContract extends LastingContract {
  private static final int PARALLEL = 20;

  /**
   * The guest's process on this host: by default the first one with the sandbox's id in its command
   * line.
   */
  protected ProcessHandle guestProcess(Machine machine) {
    List<Long> guests = Leftovers.processes(machine.id().value());
    assertThat(guests).as("the guest's process is found by its sandbox's id").isNotEmpty();
    return ProcessHandle.of(guests.getFirst()).orElseThrow();
  }

  /** Whether the host sees what runs inside; a kernel of the machine's own shows nothing of it. */
  protected boolean showsProcesses() {
    return true;
  }

  private void killGuest(Machine machine) {
    ProcessHandle guest = guestProcess(machine);
    guest.destroyForcibly();
    Eventually.holds(
        "the guest is gone",
        Duration.ofSeconds(30),
        () -> !Leftovers.processes(machine.id().value()).contains(guest.pid()));
  }

  @Test
  void reportsWhatItIs() {
    assertThat(engine().capabilities().engine()).isEqualTo(engine().name());
    Isolation isolation = start().isolation();

    if (isolates()) {
      assertThat(isolation.strength()).isGreaterThan(Isolation.Strength.NONE);
    } else {
      assertThat(isolation.strength()).isEqualTo(Isolation.Strength.NONE);
      assertThat(isolation.measures()).noneMatch(Isolation.Measure::applied);
    }
    assertThat(isolation.measures()).allSatisfy(m -> assertThat(m.detail()).isNotBlank());
  }

  @Test
  void manyMachinesStartAtOnceAndStayApart() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var answers = new ArrayList<Future<String>>();
      for (int i = 0; i < PARALLEL; i++) {
        String own = "machine " + i;
        answers.add(
            threads.submit(
                () -> {
                  Guest guest = startGuest();
                  guest.files().write(FileWrite.to("name"), own.getBytes(UTF_8));
                  return Finished.shell(guest, "cat name; ls | wc -l").stdout();
                }));
      }
      for (int i = 0; i < PARALLEL; i++) {
        assertThat(answers.get(i).get()).isEqualTo("machine " + i + "1\n");
      }
    }
  }

  @Test
  void destroyEndsRunningExecsLeavesNothingAndMayBeRepeated() {
    Machine machine = start();
    String marker = marker();
    Guest guest = Guest.of(machine);
    ExecSession running =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(
                    Command.shell("(setsid sleep " + marker + " &); echo ready; sleep " + marker),
                    Finished.ENVIRONMENT)
                .withKeep(true));
    awaitOutput(running, "ready");
    if (showsProcesses()) {
      assertThat(Leftovers.processes(marker)).as("positive control").isNotEmpty();
    }

    machine.destroy();

    assertThat(Leftovers.processes(marker)).isEmpty();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
    assertThat(machine.death()).isPresent();
    machine.destroy();
    assertFails(ErrorCode.GUEST_LOST, guest::ping);
    running.close();
  }

  @Test
  void startThatFailsSaysWhereAndLeavesNothing() {
    SandboxId id = SandboxId.random();
    Path absent = runDirectory().resolve("no-such-image");
    var spec = new MachineSpec(new RootImage.Folder(absent), spec().limits(), null, null);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(id, spec))
        .withMessageContaining("image")
        .withMessageContaining(absent.toString())
        .extracting(SandboxException::code)
        .isIn(ErrorCode.ENGINE_FAILED, ErrorCode.IMAGE_NOT_FOUND);
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
    assertThat(startGuest().ping().version()).as("the engine goes on").isEqualTo(1);
  }

  @Test
  void machinesOutliveTheirEngineAndAreFoundByTheNext() {
    Machine machine = start();
    ExecId exec = ExecId.random();
    var request =
        ExecRequest.of(Command.shell("echo alive; sleep 100"), Finished.ENVIRONMENT)
            .withKeep(true)
            .withRetain(DataSize.ofKibibytes(4));
    try (ExecSession session = Guest.of(machine).exec(exec, request)) {
      awaitOutput(session, "alive");
    }
    engine().close();

    try (Engine next = newEngine()) {
      List<Machine> found = next.recover();
      assertThat(found).extracting(Machine::id).containsExactly(machine.id());
      Machine again = found.getFirst();
      assertThat(again.limits()).isEqualTo(machine.limits());
      assertThat(again.isolation()).isEqualTo(machine.isolation());
      assertThat(again.death()).isEmpty();
      try (ExecSession session = Guest.of(again).attach(exec, 0)) {
        assertThat(awaitOutput(session, "alive")).contains("alive");
      }
      again.destroy();
      assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
      assertThat(next.recover()).isEmpty();
    }
  }

  @Test
  void deathOfTheGuestIsNoticedAndItsRemainsAreSwept() {
    Machine machine = start();
    Guest guest = Guest.of(machine);
    String marker = marker();
    ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(Command.shell("echo ready; sleep " + marker), Finished.ENVIRONMENT));
    awaitOutput(session, "ready");

    killGuest(machine);

    assertFails(ErrorCode.GUEST_LOST, () -> Finished.follow(session));
    Eventually.holds(
        "the machine's death is known", Duration.ofSeconds(30), () -> machine.death().isPresent());
    assertThat(machine.death().orElseThrow().cause()).isEqualTo(Machine.Death.Cause.KILLED);
    assertFails(ErrorCode.GUEST_LOST, guest::ping);
    machine.destroy();
    assertThat(Leftovers.processes(marker)).isEmpty();
  }

  /** Whoever asks may be leaving: its request was cancelled. */
  @Test
  void whoIsInterruptedWhileItLooksEndsNothing() {
    Machine machine = start();
    machine.usage();

    Thread.currentThread().interrupt();
    try {
      machine.usage();
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }

    assertThat(machine.death()).isEmpty();
    assertThat(Finished.shell(Guest.of(machine), "echo here").stdout()).isEqualTo("here\n");
    machine.destroy();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void remainsOfMachinesThatDiedUnseenAreSweptByRecovery() {
    Machine machine = start();
    engine().close();
    killGuest(machine);

    try (Engine next = newEngine()) {
      for (Machine dead : next.recover()) {
        assertThat(dead.death()).as("found only to be told of what it died").isPresent();
        dead.destroy();
      }
      assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
    }
  }

  @Test
  void machinesSurviveTheKillOfTheirServer() throws Exception {
    SandboxId id = OtherServer.startAndKill(engine().name(), settings());

    List<Machine> found = engine().recover();

    assertThat(found).extracting(Machine::id).containsExactly(id);
    Machine machine = found.getFirst();
    assertThat(Finished.shell(Guest.of(machine), "echo here").stdout()).isEqualTo("here\n");
    machine.destroy();
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
  }

  @Test
  void stoppedGuestIsDestroyedAllTheSame() throws Exception {
    Machine machine = start();
    String marker = marker();
    ExecSession session =
        Guest.of(machine)
            .exec(
                ExecId.random(),
                ExecRequest.of(Command.shell("echo ready; sleep " + marker), Finished.ENVIRONMENT));
    awaitOutput(session, "ready");
    String pid = Long.toString(guestProcess(machine).pid());
    assertThat(new ProcessBuilder("kill", "-STOP", pid).start().waitFor()).isZero();

    machine.destroy();

    assertThat(Leftovers.processes(marker)).isEmpty();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
    session.close();
  }

  @Test
  void egressSocketIsTheOneWayOutAlsoWhenItIsBoundAgain() throws Exception {
    Path folder = runDirectory().resolve("egress");
    Machine machine;
    try (var proxy = ProxySocket.bind(folder)) {
      machine = start(new MachineSpec(new RootImage.Host(), spec().limits(), proxy.path(), null));
      assertThat(callProxy(machine, proxy)).isEqualTo("answer\n");
    }
    try (var next = ProxySocket.bind(folder)) {
      assertThat(callProxy(machine, next)).isEqualTo("answer\n");
    } finally {
      Files.delete(folder.resolve("egress.sock"));
      Files.delete(folder);
    }
  }

  private static String callProxy(Machine machine, ProxySocket proxy) throws IOException {
    String call =
        "import socket; s=socket.create_connection(('127.0.0.1', %d)); s.sendall(b'ask');"
                .formatted(machine.proxyPort())
            + " print(s.recv(100).decode())";
    try (ExecSession session =
        Guest.of(machine)
            .exec(
                ExecId.random(),
                ExecRequest.of(Command.of("/usr/bin/python3", "-c", call), Finished.ENVIRONMENT))) {
      try (var connection = proxy.accept()) {
        ByteBuffer asked = ByteBuffer.allocate(3);
        while (asked.hasRemaining() && connection.read(asked) >= 0) {}
        assertThat(UTF_8.decode(asked.flip()).toString()).isEqualTo("ask");
        connection.write(ByteBuffer.wrap("answer".getBytes(UTF_8)));
      }
      return Finished.follow(session).stdout();
    }
  }

  @Test
  void memoryLimitIsEnforcedAndCounted() {
    Machine machine = start(withLimits(limits(DataSize.ofMebibytes(64), 64)));
    if (!applied(machine, "memory-limit")) {
      return;
    }
    long before = machine.usage().oomKills();

    Finished finished =
        Finished.run(
            Guest.of(machine),
            Command.of("/usr/bin/python3", "-c", "x = bytearray(512 << 20); print(len(x))"));

    assertThat(finished.stdout()).isEmpty();
    assertThat(finished.exit().signal()).isEqualTo(9);
    assertThat(machine.usage().oomKills()).isGreaterThan(before);
    assertThat(machine.death()).as("the machine itself survives").isEmpty();
    assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void processLimitIsEnforcedAndCounted() {
    Machine machine = start(withLimits(limits(DataSize.ofMebibytes(128), 24)));
    if (!applied(machine, "pids-limit")) {
      return;
    }
    Finished finished = Finished.shell(Guest.of(machine), "for i in $(seq 40); do sleep 3 & done");

    assertThat(finished.stderr()).containsIgnoringCase("fork");
    assertThat(machine.usage().pidsRefused()).isPositive();
    Eventually.holds(
        "there is room again", Duration.ofSeconds(30), () -> startsAgain(Guest.of(machine)));
  }

  @Test
  void workspaceIsLimited() {
    Machine machine = start();
    if (!applied(machine, "workspace-limit")) {
      return;
    }
    Guest guest = Guest.of(machine);
    long disk = machine.limits().disk().bytes();
    assertThat(disk).isPositive();

    assertFails(
        ErrorCode.NO_SPACE,
        () -> {
          try (var upload = guest.files().write(FileWrite.to("big"))) {
            byte[] piece = new byte[1 << 20];
            for (long sent = 0; sent <= disk; sent += piece.length) {
              upload.write(piece);
            }
            upload.commit();
          }
        });
    guest.files().write(FileWrite.to("small"), new byte[1000]);
  }

  @Test
  void machinesDoNotSeeEachOthersProcessesFilesOrSockets() {
    Machine machine = start();
    Guest one = Guest.of(machine);
    Guest two = startGuest();
    String marker = marker();
    String listen =
        "import socket,sys,time; s=socket.socket(socket.AF_UNIX); s.bind('\\0' + sys.argv[1]);"
            + " s.listen(); print('ready', flush=True); time.sleep(100)";
    try (ExecSession session =
        one.exec(
            ExecId.random(),
            ExecRequest.of(
                Command.of("/usr/bin/python3", "-c", listen, marker), Finished.ENVIRONMENT))) {
      awaitOutput(session, "ready");
      // A pattern that does not match the command line that holds it.
      String pattern = "'[" + marker.charAt(0) + "]" + marker.substring(1) + "'";
      String look =
          "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c "
              + pattern
              + "; grep -c "
              + pattern
              + " /proc/net/unix";
      String both = Finished.shell(one, look).stdout();
      assertThat(both).as("positive control").doesNotContain("0");

      if (applied(machine, "pid-namespace") && applied(machine, "network-namespace")) {
        assertThat(Finished.shell(two, look).stdout()).isEqualTo("0\n0\n");
      }
    }
    one.files().write(FileWrite.to("mine"), new byte[1]);
    assertFails(ErrorCode.FILE_NOT_FOUND, () -> two.files().stat("mine"));
  }

  @Test
  void networkIsLoopbackOnly() {
    Machine machine = start();
    if (!applied(machine, "network-namespace")) {
      return;
    }
    Finished links = Finished.shell(Guest.of(machine), "tail -n +3 /proc/net/dev | cut -d: -f1");
    assertThat(links.stdout().strip()).isEqualTo("lo");
    String connect =
        "import socket; s=socket.create_server(('127.0.0.1', 0));"
            + " socket.create_connection(s.getsockname()); print('connected')";
    assertThat(
            Finished.run(Guest.of(machine), Command.of("/usr/bin/python3", "-c", connect)).stdout())
        .as("loopback is up")
        .isEqualTo("connected\n");
  }

  @Test
  void commandsHaveTemporaryPlaces() {
    Machine machine = start();
    if (!applied(machine, "tmpfs-tmp")) {
      return;
    }
    String use = "echo a > /tmp/x && echo b > /dev/shm/x && cat /tmp/x /dev/shm/x";
    assertThat(Finished.shell(Guest.of(machine), use).stdout()).isEqualTo("a\nb\n");
  }

  @Test
  void commandsRunAsAnOrdinaryUserWithoutPrivileges() {
    Machine machine = start();
    if (!applied(machine, "no-capabilities")) {
      return;
    }
    Finished finished =
        Finished.shell(
            Guest.of(machine),
            "id -u; grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status");

    assertThat(finished.stdout().lines().toList())
        .startsWith("1000")
        .filteredOn(line -> line.startsWith("Cap"))
        .hasSize(5)
        .allMatch(line -> line.endsWith("\t0000000000000000"));
    assertThat(finished.stdout()).contains("NoNewPrivs:\t1");
  }

  private static boolean startsAgain(Guest guest) {
    try {
      return Integer.valueOf(0).equals(Finished.shell(guest, "true").code());
    } catch (SandboxException e) {
      return false; // the killed ones are not reaped yet
    }
  }

  private static Limits limits(DataSize memory, int pids) {
    return new Limits(memory, 1, pids, DataSize.ofMebibytes(16), 1024);
  }
}
