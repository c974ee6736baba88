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
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Future.State;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Images in trouble: broken, locked by others, cut off by a crash, on a disk that is full. */
@Timeout(90)
final class VolumesIT extends MachineTests {
  private static final Limits LIMITS =
      new Limits(DataSize.ofMebibytes(128), 1, 64, DataSize.ofMebibytes(64), 256);

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  private static MachineSpec on(VolumeId volume) {
    return new MachineSpec(new RootImage.Host(), LIMITS, null, volume);
  }

  private Path image(VolumeId volume) {
    return runDirectory().resolve("volumes").resolve(volume + ".img");
  }

  private static Finished shell(Machine machine, String line) {
    return Finished.shell(Guest.of(machine), line);
  }

  @Test
  void newVolumeIsEmptyAndItsUsers() {
    Machine machine = start(on(VolumeId.random()));

    assertThat(shell(machine, "ls -A; stat -c '%u %g %a' .").stdout()).isEqualTo("1000 1000 755\n");
    assertThat(shell(machine, "stat -f -c %T .").stdout()).startsWith("ext2/ext3");
  }

  @Test
  void volumesMadeAheadAreNewAndKeepTheirFiles() {
    VolumeId first = VolumeId.random();
    VolumeId second = VolumeId.random();
    Machine one = start(on(first));
    shell(one, "echo one > file");
    Eventually.holds("one is made ahead", SOON, () -> spares() == 1);
    Machine two = start(on(second));
    assertThat(shell(two, "ls -A; stat -c '%u %g %a' .").stdout()).isEqualTo("1000 1000 755\n");
    shell(two, "echo two > file");
    one.destroy();
    two.destroy();

    // Whatever is made ahead by now, these two are there already.
    assertThat(shell(start(on(first)), "cat file").stdout()).isEqualTo("one\n");
    assertThat(shell(start(on(second)), "cat file").stdout()).isEqualTo("two\n");
  }

  @Test
  void volumeMadeAheadGoesWhenNobodyWantsIt() {
    start(on(VolumeId.random()));
    Eventually.holds("one is made ahead", SOON, () -> spares() == 1);

    Eventually.holds(
        "it is gone", SOON, () -> spares() == 0 && Leftovers.loops(runDirectory()).size() == 1);
  }

  @Test
  void whoMakesASeriesFindsSeveralMadeAheadAndAllOfThemGo() {
    start(on(VolumeId.random()));
    start(on(VolumeId.random()));
    Eventually.holds("more are made ahead", SOON, () -> spares() == 3);

    Eventually.holds(
        "they are gone", SOON, () -> spares() == 0 && Leftovers.loops(runDirectory()).size() == 2);
  }

  @Test
  void volumeMadeAheadOutlivesNoServer() {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    Eventually.holds("one is made ahead", SOON, () -> spares() == 1);
    kill(Leftovers.parents(" --run " + runDirectory() + " ").getFirst());

    Eventually.holds(
        "only the sandbox's is left",
        SOON,
        () -> spares() == 0 && Leftovers.loops(runDirectory()).size() == 1);
    assertThat(shell(machine, "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void discardedMachineTakesItsVolumeAlong() {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    shell(machine, "head -c 5000000 /dev/urandom > big; (sleep 1000 > busy &)");

    machine.discard();

    assertThat(image(volume)).doesNotExist();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
    assertThat(engine().volumes().orElseThrow().list()).doesNotContain(volume);
    Eventually.holds(
        "no loop device is left", SOON, () -> Leftovers.loops(runDirectory()).isEmpty());
    assertThat(shell(start(on(volume)), "ls -A").stdout()).as("a new one").isEmpty();
  }

  private int spares() {
    String[] names =
        runDirectory().resolve("volumes").toFile().list((_, name) -> name.startsWith("spare-"));
    return names == null ? 0 : names.length;
  }

  @Test
  void smallestVolumeIsToldAsItIs() {
    var tiny = new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(1), 256);
    Machine machine = start(new MachineSpec(new RootImage.Host(), tiny, null, VolumeId.random()));

    assertThat(machine.limits().disk()).isEqualTo(DataSize.ofMebibytes(16));
    assertThat(shell(machine, "head -c 8000000 /dev/zero > f && echo fits").stdout())
        .isEqualTo("fits\n");
  }

  @Test
  void brokenImageIsNamedAndLeftAsItIs() throws Exception {
    VolumeId volume = VolumeId.random();
    start(on(volume)).destroy();
    try (var file = new RandomAccessFile(image(volume).toFile(), "rw")) {
      file.write(new byte[8192]);
    }
    byte[] before = Files.readAllBytes(image(volume));
    SandboxId id = SandboxId.random();

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(id, on(volume)))
        .withMessageContaining(volume.value())
        .withMessageContaining("e2fsck")
        .extracting(SandboxException::code)
        .isEqualTo(ErrorCode.ENGINE_FAILED);

    assertThat(Files.readAllBytes(image(volume))).as("nothing was written to it").isEqualTo(before);
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
    Eventually.holds(
        "no loop device is left", SOON, () -> Leftovers.loops(runDirectory()).isEmpty());
    assertThat(shell(start(on(VolumeId.random())), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void imageOfAnUncleanEndMountsWithWhatWasSynced() throws Exception {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    shell(machine, "mkdir d && echo synced > d/file && sync");
    // What a disk would hold after the power went: mounted, journal not replayed.
    VolumeId found = VolumeId.random();
    Files.copy(image(volume), image(found));

    assertThat(shell(start(on(found)), "cat d/file").stdout()).isEqualTo("synced\n");
  }

  @Test
  void lockIsTheKernelsAndHoldsAgainstAnotherServer() throws Exception {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    shell(machine, "echo one > file");
    Path elsewhere = Files.createTempDirectory("carrel-");
    var settings =
        new EngineSettings(
            elsewhere,
            runDirectory().resolve("volumes"),
            Path.of(System.getProperty("carrel.lib", "")),
            allowMissing());
    try (Engine other = openEngine(settings)) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> other.start(SandboxId.random(), on(volume)))
          .withMessageContaining("in use")
          .extracting(SandboxException::code)
          .isEqualTo(ErrorCode.WRONG_STATE);
      machine.destroy();
      Machine next = other.start(SandboxId.random(), on(volume));
      assertThat(shell(next, "cat file").stdout()).isEqualTo("one\n");
      next.destroy();
    } finally {
      Leftovers.delete(elsewhere);
    }
  }

  @Test
  void volumeOfASandboxThatDiedUnseenIsFree() {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    shell(machine, "echo one > file && sync");
    kill(Leftovers.parents(" --run " + runDirectory() + " ").getFirst());
    kill(((NativeMachine) machine).pid());

    assertThat(shell(start(on(volume)), "cat file").stdout()).isEqualTo("one\n");
  }

  @Test
  void copyWhoseAskerIsGoneLetsTheSandboxGoOn() throws Exception {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    shell(machine, "head -c 50000000 /dev/urandom > big && sync");
    try (SpawnConnection connection = SpawnConnection.open(runDirectory().resolve("spawn.sock"))) {
      connection.send(
          Frame.of(Frame.VOLUME_COPY)
              .with(Frame.VOLUME, volume.value())
              .with(Frame.TARGET, VolumeId.random().value()));
    }

    assertThat(shell(machine, "echo on > file; cat file").stdout()).isEqualTo("on\n");
    machine.destroy();
    Eventually.holds(
        "no loop device is left", SOON, () -> Leftovers.loops(runDirectory()).isEmpty());
  }

  @Test
  void copyDuringWhichTheServerDiesIsWholeOrNotThere() throws Exception {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));
    shell(machine, "head -c 30000000 /dev/urandom > big && sync");
    String write =
        "i=0; : > two; echo ready; while :; do i=$((i+1)); echo $i >> one; echo $i >> two; done";
    try (ExecSession writing =
            Guest.of(machine)
                .exec(ExecId.random(), ExecRequest.of(Command.shell(write), Finished.ENVIRONMENT));
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      assertThat(writing.next()).isNotNull();
      Eventually.holds(
          "it writes",
          SOON,
          () -> shell(machine, "[ -s two ] && echo yes").stdout().equals("yes\n"));
      VolumeId copy = VolumeId.random();
      Future<?> copying = threads.submit(() -> engine().volumes().orElseThrow().copy(volume, copy));
      Eventually.holds("it stands still", SOON, () -> copying.isDone() || isFrozen(machine));
      kill(Leftovers.parents(" --run " + runDirectory() + " ").getFirst());

      assertThat(machine.death()).as("asked of a new server").isEmpty();
      long size = Guest.of(machine).files().stat("one").size();
      Eventually.holds(
          "the writer goes on", SOON, () -> Guest.of(machine).files().stat("one").size() > size);
      Eventually.holds("the copy is over", SOON, copying::isDone);
      assertThat(copying.state()).as("it was asked for again").isIn(State.SUCCESS, State.FAILED);
      if (engine().volumes().orElseThrow().list().contains(copy)) {
        String[] lines =
            shell(start(on(copy)), "wc -l < one; wc -l < two").stdout().split("\n", -1);
        assertThat(Long.parseLong(lines[0]) - Long.parseLong(lines[1])).isBetween(0L, 1L);
      }
    }
  }

  private static boolean isFrozen(Machine machine) {
    Cgroup freezer = SandboxLifeIT.cgroup(machine, "freezer");
    try {
      return freezer.version() == 1
          ? Files.readString(freezer.folder().resolve("freezer.state")).equals("FROZEN\n")
          : Files.readString(freezer.folder().resolve("cgroup.events")).contains("frozen 1");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void namesThatAreNoVolumesAreRefusedAndNotListed() throws Exception {
    start();
    Files.writeString(runDirectory().resolve("volumes/notes.img"), "");
    Files.createDirectory(runDirectory().resolve("volumes/voaaaaaaaaaaaaaa.img"));
    try (SpawnConnection connection = SpawnConnection.open(runDirectory().resolve("spawn.sock"))) {
      for (String name :
          List.of("../../etc/passwd", "vo../../../../../x", "voAAAAAAAAAAAAAA", "")) {
        connection.send(Frame.of(Frame.VOLUME_REMOVE).with(Frame.VOLUME, name));
        assertThat(connection.receive().text(Frame.KIND)).as(name).isEqualTo("bad_request");
      }
      connection.send(
          Frame.of(Frame.CREATE).with(Frame.ID, "sba").with(Frame.VOLUME, "vo/../../x"));
      assertThat(connection.receive().text(Frame.KIND)).isEqualTo("bad_request");
    }
    assertThat(engine().volumes().orElseThrow().list()).isEmpty();
  }

  @Test
  void fullDiskIsTheMatterOfWhoWritesToIt() throws Exception {
    Path disk = Files.createTempDirectory("carrel-disk-");
    run("mount", "-t", "tmpfs", "-o", "size=80m,mode=0700", "carrel-test", disk.toString());
    try (Engine small = onDisk(disk)) {
      Machine first = small.start(SandboxId.random(), on(VolumeId.random()));
      Machine second = small.start(SandboxId.random(), on(VolumeId.random()));
      try {
        assertThat(
                shell(first, "head -c 40000000 /dev/urandom > f && sync f && md5sum f > sum")
                    .code())
            .isZero();
        Finished full = shell(second, "head -c 50000000 /dev/urandom > f && sync f");
        assertThat(full.code()).as("it is told at the latest when it asks for safety").isNotZero();
        assertThat(shell(first, "md5sum -c sum").stdout()).isEqualTo("f: OK\n");
        assertThat(second.death()).isEmpty();
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> small.start(SandboxId.random(), on(VolumeId.random())))
            .extracting(SandboxException::code)
            .isEqualTo(ErrorCode.NO_SPACE);
      } finally {
        second.destroy();
        first.destroy();
      }
    } finally {
      Eventually.holds("nobody uses the disk", SOON, () -> Leftovers.loops(disk).isEmpty());
      run("umount", disk.toString());
      Files.delete(disk);
    }
  }

  @Test
  void whatAFullDiskMadeReadOnlyIsNotCopiedAndSaysHowItIsWrittenToAgain() throws Exception {
    Path disk = Files.createTempDirectory("carrel-disk-");
    run("mount", "-t", "tmpfs", "-o", "size=80m,mode=0700", "carrel-test", disk.toString());
    try (Engine small = onDisk(disk)) {
      VolumeId volume = VolumeId.random();
      Machine machine = small.start(SandboxId.random(), on(volume));
      try {
        assertThat(shell(machine, "echo kept > file && sync file").code()).isZero();
        Path filler = disk.resolve("filler");
        boolean readOnly = false;
        // Again and again: what is given back meanwhile would be enough to go on. The whole file
        // system is synced: of a file that could not be written its own sync says so and no more.
        for (int i = 0; i < 20 && !readOnly; i++) {
          run("sh", "-c", "cat /dev/zero >>" + filler + " 2>/dev/null || true");
          shell(
              machine, "for i in $(seq 50); do head -c 50000 /dev/urandom > f$i; sync -f .; done");
          readOnly = shell(machine, "touch more").stderr().contains("Read-only file system");
        }
        assertThat(readOnly).isTrue();
        Files.delete(filler);

        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> small.volumes().orElseThrow().copy(volume, VolumeId.random()))
            .matches(e -> e.code() == ErrorCode.WRONG_STATE, "is a matter of its state")
            .matches(e -> e.hint().orElseThrow().contains("stop and start"), "says what to do");

        machine.destroy();
        machine = small.start(SandboxId.random(), on(volume));
        assertThat(shell(machine, "cat file && touch more").stdout()).isEqualTo("kept\n");
        small.volumes().orElseThrow().copy(volume, VolumeId.random());
      } finally {
        machine.destroy();
      }
    } finally {
      Eventually.holds("nobody uses the disk", SOON, () -> Leftovers.loops(disk).isEmpty());
      run("umount", disk.toString());
      Files.delete(disk);
    }
  }

  private Engine onDisk(Path disk) {
    Path run = runDirectory().resolve("small");
    return openEngine(
        new EngineSettings(
            run, disk.resolve("v"), Path.of(System.getProperty("carrel.lib", "")), allowMissing()));
  }

  private static void run(String... command) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  private static void kill(long pid) {
    ProcessHandle process = ProcessHandle.of(pid).orElseThrow();
    process.destroyForcibly();
    Eventually.holds("it is gone", SOON, () -> !process.isAlive());
  }

  private static final Duration SOON = Duration.ofSeconds(10);
}
