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
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What every engine promises of files that outlive machines, of pauses and of changed limits. */
abstract class LastingContract extends GuestContract {
  private static final Duration SOON = Duration.ofSeconds(10);

  /** Whether files can outlive a machine here. */
  protected abstract boolean keepsVolumes();

  /** Whether a named pipe in a volume outlives its machine, as other files do. */
  protected boolean keepsNamedPipes() {
    return true;
  }

  private static MachineSpec on(VolumeId volume) {
    return on(volume, spec().limits());
  }

  private static MachineSpec on(VolumeId volume, Limits limits) {
    return new MachineSpec(new RootImage.Host(), limits, null, volume);
  }

  private Volumes volumes() {
    return engine().volumes().orElseThrow();
  }

  @Test
  void saysWhetherItKeepsVolumes() {
    assertThat(engine().volumes().isPresent()).isEqualTo(keepsVolumes());
    if (keepsVolumes()) {
      return;
    }
    SandboxId id = SandboxId.random();
    assertFails(ErrorCode.NOT_SUPPORTED, () -> engine().start(id, on(VolumeId.random())));
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
    assertThat(applied(start(), "volume")).isFalse();
    assertThat(engine().capabilities().problems()).anyMatch(text -> text.contains("outlive"));
  }

  @Test
  void filesInAVolumeOutliveTheirMachine() {
    if (!keepsVolumes()) {
      return;
    }
    VolumeId volume = VolumeId.random();
    Machine first = start(on(volume));
    String make =
        "mkdir -p a/b && echo kept > a/b/c && ln -s a/b/c link && chmod 640 a/b/c"
            + " && printf '#!/bin/sh\\necho ran' > run && chmod +x run";
    assertThat(Finished.shell(Guest.of(first), make).code()).isZero();
    first.destroy();
    assertThat(volumes().list()).containsExactly(volume);

    Guest second = Guest.of(start(on(volume)));

    assertThat(
            Finished.shell(second, "cat link; ./run; stat -c %a a/b/c; ls | tr '\\n' ' '").stdout())
        .isEqualTo("kept\nran\n640\na link run ");
    assertThat(Finished.shell(second, "[ -O a/b/c ] && [ -O . ] && echo own").stdout())
        .as("it has the same owner inside, whatever it was outside")
        .isEqualTo("own\n");
  }

  @Test
  void volumeIsOneMachinesAtATime() {
    if (!keepsVolumes()) {
      return;
    }
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    Finished.shell(Guest.of(machine), "echo one > file");
    SandboxId refused = SandboxId.random();

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(refused, on(volume)))
        .withMessageContaining(volume.value())
        .extracting(SandboxException::code)
        .isEqualTo(ErrorCode.WRONG_STATE);

    assertThat(Leftovers.of(refused.value(), runDirectory())).isEmpty();
    assertThat(Finished.shell(Guest.of(machine), "cat file").stdout()).isEqualTo("one\n");
    for (int i = 0; i < 5; i++) {
      machine.destroy();
      machine = start(on(volume));
      assertThat(Finished.shell(Guest.of(machine), "cat file").stdout())
          .as("free as soon as it is destroyed")
          .isEqualTo("one\n");
    }
  }

  @Test
  void fullVolumeIsItsOwnMachinesMatterAndMayBeLargerThanMemory() {
    if (!keepsVolumes()) {
      return;
    }
    var limits = new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(192), 256);
    Machine machine = start(on(VolumeId.random(), limits));
    if (!applied(machine, "workspace-limit")) {
      return;
    }
    Machine other = start(on(VolumeId.random(), limits));

    Finished fill =
        Finished.shell(Guest.of(machine), "cat /dev/zero > big; stat -c %s big; echo alive");

    assertThat(fill.stderr()).contains("No space left");
    assertThat(fill.stdout()).endsWith("alive\n");
    assertThat(Long.parseLong(fill.stdout().lines().findFirst().orElseThrow()))
        .isBetween(limits.memory().bytes() * 2, limits.disk().bytes());
    assertThat(machine.limits().disk()).isEqualTo(limits.disk());
    assertThat(machine.usage().oomKills()).isZero();
    assertThat(
            Finished.shell(Guest.of(other), "head -c 100000000 /dev/zero > f && echo written")
                .stdout())
        .isEqualTo("written\n");
    assertFails(
        ErrorCode.NO_SPACE,
        () -> Guest.of(machine).files().write(FileWrite.to("more"), new byte[1 << 20]));
    Finished again = Finished.shell(Guest.of(machine), "rm big && echo room > small && cat small");
    assertThat(again.stdout()).isEqualTo("room\n");
  }

  @Test
  void removedVolumeGivesItsSpaceBackAndCanBeRemovedAgain() {
    if (!keepsVolumes()) {
      return;
    }
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    long empty = volumes().usedBytes(volume);
    Finished.shell(Guest.of(machine), "head -c 8000000 /dev/urandom > f && sync f");
    assertThat(volumes().usedBytes(volume)).isGreaterThan(empty + 7_000_000);
    machine.destroy();

    volumes().remove(volume);
    volumes().remove(volume);

    assertThat(volumes().list()).doesNotContain(volume);
    assertFails(ErrorCode.VOLUME_NOT_FOUND, () -> volumes().usedBytes(volume));
    assertThat(Finished.shell(Guest.of(start(on(volume))), "ls").stdout())
        .as("the same id names a new one")
        .isEmpty();
  }

  @Test
  void copyIsTheVolumeAtOneMomentAndNothingAfterwards() {
    if (!keepsVolumes()) {
      return;
    }
    VolumeId volume = VolumeId.random();
    VolumeId copy = VolumeId.random();
    Machine machine = start(on(volume));
    // Each round writes to one file and then to the other: at no moment are they two lines apart.
    String write =
        "i=0; : > two; echo ready; while :; do i=$((i+1)); echo line $i >> one; echo line $i >>"
            + " two; done";
    try (ExecSession writer =
        Guest.of(machine)
            .exec(ExecId.random(), ExecRequest.of(Command.shell(write), Finished.ENVIRONMENT))) {
      awaitOutput(writer, "ready");
      Eventually.holds(
          "it writes", SOON, () -> Guest.of(machine).files().stat("two").size() > 10_000);

      volumes().copy(volume, copy);

      long size = Guest.of(machine).files().stat("one").size();
      Eventually.holds(
          "the writer goes on",
          SOON,
          () -> Guest.of(machine).files().stat("one").size() > size + 1000);
    }
    assertThat(volumes().list()).containsExactlyInAnyOrder(volume, copy);
    Guest copied = Guest.of(start(on(copy)));
    List<String> lines =
        Finished.shell(copied, "wc -l < one; wc -l < two; tail -qn 1 one two")
            .stdout()
            .lines()
            .toList();
    long one = Long.parseLong(lines.get(0));
    long two = Long.parseLong(lines.get(1));
    assertThat(two).isGreaterThan(100);
    if (applied(machine, "freezer")) {
      assertThat(one - two).isBetween(0L, 1L);
      assertThat(lines.subList(2, 4)).containsExactly("line " + one, "line " + two);
    }
    Finished.shell(copied, "echo other > one");
    assertThat(Finished.shell(Guest.of(machine), "head -n 1 one").stdout()).isEqualTo("line 1\n");
  }

  @Test
  void copyOfAVolumeThatNobodyHas() {
    if (!keepsVolumes()) {
      return;
    }
    VolumeId volume = VolumeId.random();
    VolumeId copy = VolumeId.random();
    Machine machine = start(on(volume));
    Finished.shell(Guest.of(machine), "echo first > f; mkfifo pipe; ln -s /etc/passwd out");
    machine.destroy();

    volumes().copy(volume, copy);

    assertFails(ErrorCode.WRONG_STATE, () -> volumes().copy(volume, copy));
    assertFails(
        ErrorCode.VOLUME_NOT_FOUND, () -> volumes().copy(VolumeId.random(), VolumeId.random()));
    assertThat(volumes().list()).containsExactlyInAnyOrder(volume, copy);
    volumes().remove(volume);
    assertThat(
            Finished.shell(
                    Guest.of(start(on(copy))), "cat f; readlink out; [ -p pipe ] && echo pipe")
                .stdout())
        .isEqualTo("first\n/etc/passwd\n" + (keepsNamedPipes() ? "pipe\n" : ""));
  }

  @Test
  void volumesAreFoundByTheNextEngine() {
    if (!keepsVolumes()) {
      return;
    }
    VolumeId used = VolumeId.random();
    VolumeId unused = VolumeId.random();
    start(on(unused)).destroy();
    Machine machine = start(on(used));
    Finished.shell(Guest.of(machine), "echo kept > file");
    engine().close();

    try (Engine next = newEngine()) {
      Volumes found = next.volumes().orElseThrow();
      assertThat(found.list()).containsExactlyInAnyOrder(used, unused);
      assertFails(ErrorCode.WRONG_STATE, () -> next.start(SandboxId.random(), on(used)));
      Machine again = next.recover().getFirst();
      VolumeId copy = VolumeId.random();
      found.copy(used, copy);
      again.destroy();
      Machine restarted = next.start(SandboxId.random(), on(copy));
      assertThat(Finished.shell(Guest.of(restarted), "cat file").stdout()).isEqualTo("kept\n");
      restarted.destroy();
    }
  }

  @Test
  void pauseStopsEveryProcessWhereItIsAndResumeLetsItGoOn() {
    Machine machine = start();
    if (!applied(machine, "freezer")) {
      assertFails(ErrorCode.NOT_SUPPORTED, machine::pause);
      assertThat(machine.paused()).isFalse();
      return;
    }
    Guest clock = startGuest();
    String count = "i=0; while :; do i=$((i+1)); [ $((i % 1000)) = 0 ] && echo $i; done";
    try (ExecSession counter =
        Guest.of(machine)
            .exec(ExecId.random(), ExecRequest.of(Command.shell(count), Finished.ENVIRONMENT))) {
      awaitOutput(counter, "3000");
      machine.pause();
      machine.pause();

      assertThat(machine.paused()).isTrue();
      long used = machine.usage().cpuNanos();
      assertThat(used).isPositive();
      Finished.shell(clock, "sleep 0.3");
      assertThat(machine.usage().cpuNanos()).as("not one step").isEqualTo(used);
      assertThat(machine.usage().pids()).isGreaterThan(1);
      assertThat(machine.death()).isEmpty();

      machine.resume();
      machine.resume();
      assertThat(machine.paused()).isFalse();
      Eventually.holds("it runs", SOON, () -> machine.usage().cpuNanos() > used + 50_000_000);
      assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
    }
  }

  @Test
  void pausedMachineIsDestroyedAndLeavesNothing() {
    Machine machine = start();
    if (!applied(machine, "freezer")) {
      return;
    }
    String marker = marker();
    ExecSession session =
        Guest.of(machine)
            .exec(
                ExecId.random(),
                ExecRequest.of(Command.shell("echo ready; sleep " + marker), Finished.ENVIRONMENT));
    awaitOutput(session, "ready");
    machine.pause();

    machine.destroy();

    assertThat(Leftovers.processes(marker)).isEmpty();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
    assertThat(machine.death()).isPresent();
    assertFails(ErrorCode.SANDBOX_GONE, machine::resume);
    session.close();
  }

  @Test
  void pausedMachineStaysPausedWhenItsServerEnds() {
    Machine machine = start();
    if (!applied(machine, "freezer")) {
      return;
    }
    machine.pause();
    engine().close();

    try (Engine next = newEngine()) {
      Machine again = next.recover().getFirst();
      assertThat(again.paused()).isTrue();
      assertThat(again.death()).isEmpty();
      assertThat(again.usage().pids()).isPositive();
      again.resume();
      assertThat(Finished.shell(Guest.of(again), "echo on").stdout()).isEqualTo("on\n");
    }
  }

  @Test
  void limitsOfARunningMachineChange() {
    var before = new Limits(DataSize.ofMebibytes(64), 0.1, 24, DataSize.ofMebibytes(16), 256);
    var after = new Limits(DataSize.ofMebibytes(256), 1, 96, DataSize.ofMebibytes(16), 256);
    Machine machine = start(withLimits(before));
    Guest guest = Guest.of(machine);
    if (!applied(machine, "memory-limit") || !applied(machine, "pids-limit")) {
      assertFails(ErrorCode.NOT_SUPPORTED, () -> machine.limit(after));
      return;
    }
    String allocate = "x = bytearray(128 << 20); print(len(x))";
    Command hungry = Command.of("/usr/bin/python3", "-c", allocate);
    assertThat(Finished.run(guest, hungry).stdout()).as("positive control").isEmpty();
    String fork = "for i in $(seq 48); do sleep 1 & done; echo forked";

    Limits now = machine.limit(after);

    assertThat(now.memory()).isEqualTo(after.memory());
    assertThat(now.pids()).isEqualTo(after.pids());
    assertThat(now.cpus()).isEqualTo(after.cpus());
    assertThat(now.openFiles()).isEqualTo(machine.limits().openFiles());
    assertThat(detail(machine, "memory-limit")).contains(Long.toString(256 << 20));
    assertThat(detail(machine, "pids-limit")).contains("96");
    assertThat(Finished.run(guest, hungry).stdout()).isEqualTo((128 << 20) + "\n");
    assertThat(Finished.shell(guest, fork).stdout()).isEqualTo("forked\n");
    Eventually.holds(
        "it gets more than a tenth of a core could give, however busy the host",
        Duration.ofSeconds(30),
        () -> spin(machine).compareTo(Duration.ofMillis(120)) > 0);
    engine().close();
    try (Engine next = newEngine()) {
      Machine again = next.recover().getFirst();
      assertThat(again.limits()).isEqualTo(now);
      assertThat(again.isolation()).isEqualTo(machine.isolation());
    }
  }

  @Test
  void machineGetsNoMoreOfTheProcessorThanItsShare() {
    var limits = new Limits(DataSize.ofMebibytes(256), 0.1, 64, DataSize.ofMebibytes(16), 256);
    Machine machine = start(withLimits(limits));
    if (!applied(machine, "cpu-limit")) {
      return;
    }
    long begin = System.nanoTime();
    Duration used = spin(machine);
    Duration took = Duration.ofNanos(System.nanoTime() - begin);

    // Twice its share, as the kernel gives it out in slices; on a busy host it may take longer.
    assertThat(used).as("of %s", took).isLessThan(took.dividedBy(5).plusMillis(100));
    assertThat(used).as("positive control: it did run").isGreaterThan(Duration.ofMillis(10));
  }

  /** Time on the processor in 0.7 seconds of trying to have all of it. */
  private static Duration spin(Machine machine) {
    long before = machine.usage().cpuNanos();
    Command busy = Command.shell("while :; do :; done").withTimeout(Duration.ofMillis(700));
    Finished.run(Guest.of(machine), busy);
    return Duration.ofNanos(machine.usage().cpuNanos() - before);
  }

  @Test
  void limitBelowWhatIsInUseIsRefusedAndChangesNothing() {
    Machine machine = start();
    if (!applied(machine, "memory-limit") || !applied(machine, "pids-limit")) {
      return;
    }
    Guest guest = Guest.of(machine);
    Limits before = machine.limits();
    String hold =
        "import time; x = bytearray(100 << 20); print('ready', flush=True); time.sleep(100)";
    try (ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(Command.of("/usr/bin/python3", "-c", hold), Finished.ENVIRONMENT))) {
      awaitOutput(session, "ready");
      var small =
          new Limits(
              DataSize.ofMebibytes(90),
              before.cpus(),
              before.pids(),
              before.disk(),
              before.openFiles());

      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> machine.limit(small))
          .withMessageContaining("90 MiB")
          .withMessageMatching("(?s).*1\\d\\d MiB of memory are in use.*")
          .extracting(SandboxException::code)
          .isEqualTo(ErrorCode.WRONG_STATE);

      assertThat(machine.limits()).isEqualTo(before);
      assertThat(machine.usage().oomKills()).isZero();
      assertThat(Finished.shell(guest, "echo on").stdout()).isEqualTo("on\n");
    }
    // What is only kept for speed does not count as in use.
    Finished.shell(guest, "head -c 90000000 /usr/bin/* 2>/dev/null | cat > /dev/null");
    var small =
        new Limits(
            DataSize.ofMebibytes(90),
            before.cpus(),
            before.pids(),
            before.disk(),
            before.openFiles());
    Eventually.holds("there is room for less", SOON, () -> shrinks(machine, small));
    assertThat(machine.limits().memory()).isEqualTo(small.memory());
    guest.files().write(FileWrite.to("file"), "on".getBytes(UTF_8));
  }

  private static boolean shrinks(Machine machine, Limits limits) {
    try {
      machine.limit(limits);
      return true;
    } catch (SandboxException e) {
      return false; // the process that had it is not gone yet
    }
  }
}
