package dev.carrel.engine.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.host.HostTree;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.engine.testkit.OrdinaryUser;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What code inside a sandbox tries against the ordinary user whose server started it. With one id
 * the two are the same user to the host, so that only walls keep them apart. Run in a JVM of that
 * user.
 */
@Timeout(60)
abstract class OrdinaryUserAttacks extends MachineTests {
  private static final String CANARY = "canary-51c9";
  private static final Duration SOON = Duration.ofSeconds(10);

  private final OciRuntime runtime;

  OrdinaryUserAttacks(OciRuntime runtime) {
    this.runtime = runtime;
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new OciEngine(runtime, settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Override
  protected Set<String> allowMissing() {
    return OrdinaryUser.allowMissing();
  }

  @Test
  void filesOfTheServersUserAreNowhere() throws IOException {
    Path token = Files.writeString(runDirectory().resolve("token"), CANARY);
    Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
    Path temporary = Files.createTempFile("carrel-", "-token");
    Files.writeString(temporary, CANARY);
    try {
      Guest guest = startGuest();
      String look =
          """
          cat %1$s %2$s /proc/1/root%1$s /proc/self/root%1$s /proc/1/cwd%1$s 2>/dev/null
          cd /
          for d in etc home mnt opt root run srv tmp var workspace; do
            find $d -type f -size -9 2>/dev/null
          done | xargs grep -ls %3$s
          echo looked
          """
              .formatted(token, temporary, CANARY);

      assertThat(Finished.shell(guest, look).stdout()).isEqualTo("looked\n");
      String own = "echo %s > /tmp/x; grep -ls %s /tmp/x".formatted(CANARY, CANARY);
      assertThat(Finished.shell(guest, own).stdout()).as("positive control").isEqualTo("/tmp/x\n");
    } finally {
      Files.delete(temporary);
    }
  }

  @Test
  void guestsSocketIsOutOfReach() {
    Machine machine = start();
    String tries =
        "ls -A /run/carrel/guest; cat /run/carrel/guest/report; touch /run/carrel/guest/x;"
            + " rm -f /run/carrel/guest/guest.sock; mv /run/carrel/guest /run/carrel/g;"
            + " ln -s /etc/passwd /run/carrel/guest/y; echo tried";

    assertThat(Finished.shell(Guest.of(machine), tries).stdout()).isEqualTo("tried\n");
    String connect =
        "import socket; s=socket.socket(socket.AF_UNIX);"
            + " s.connect('/run/carrel/guest/guest.sock'); print('connected')";
    Finished connects =
        Finished.run(Guest.of(machine), Command.of("/usr/bin/python3", "-c", connect));
    assertThat(connects.stdout()).isEmpty();
    assertThat(connects.stderr()).containsAnyOf("Permission denied", "No such file");
    assertThat(Finished.shell(Guest.of(machine), "echo on").stdout()).isEqualTo("on\n");
  }

  @Test
  void wayOutCanBeUsedAndNotReplaced() throws IOException {
    Path folder = Files.createDirectory(runDirectory().resolve("egress"));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    Path socket = folder.resolve("egress.sock");
    try (var proxy = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      proxy.bind(UnixDomainSocketAddress.of(socket));
      Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
      Machine machine = start(new MachineSpec(new RootImage.Host(), spec().limits(), socket, null));
      String tries =
          "cd /run/carrel/egress; touch x; rm -f egress.sock; mv egress.sock y; chmod 0 . egress.sock;"
              + " ln -s /etc/passwd z; echo tried";

      assertThat(Finished.shell(Guest.of(machine), tries).stdout()).isEqualTo("tried\n");
      try (var names = Files.list(folder)) {
        assertThat(names).containsExactly(socket);
      }
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
          .isEqualTo("rwx--x--x");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
          .isEqualTo("rw-rw-rw-");
    } finally {
      Leftovers.delete(folder);
    }
  }

  @Test
  void processesOfTheUserAreNeitherSeenNorEnded() throws Exception {
    Process mine = new ProcessBuilder("sleep", "7351.25").start();
    try {
      Guest guest = startGuest();
      String tries =
          """
          cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '7351[.]25'
          kill -9 %d %d
          kill -9 -1
          """
              .formatted(mine.pid(), ProcessHandle.current().pid());

      assertThat(Finished.shell(guest, tries).stdout()).startsWith("0\n");
      assertThat(Finished.shell(guest, "echo on").stdout()).isEqualTo("on\n");
      assertThat(mine.isAlive()).isTrue();
    } finally {
      mine.destroyForcibly().waitFor();
    }
  }

  /** As the host sees who runs inside. */
  @Test
  void codeIsSomebodyElseWhereTheUserHasSubordinateIds() throws IOException {
    Machine one = start();
    Machine two = start();
    if (runtime == OciRuntime.RUNSC) {
      assertThat(applied(one, "uid-range")).isFalse();
      return;
    }
    try (ExecSession first = sleeper(one, "7352.1");
        ExecSession second = sleeper(two, "7352.2")) {
      List<String> users = List.of(user("7352.1"), user("7352.2"), user(one.id().value()));
      if (!applied(one, "uid-range")) {
        assertThat(users).containsOnly(Integer.toString(OrdinaryUser.ID));
        return;
      }
      assertThat(new HashSet<>(users)).as("all differ: %s", users).hasSize(users.size());
      assertThat(users)
          .allSatisfy(
              user ->
                  assertThat(Integer.parseInt(user))
                      .isBetween(
                          OrdinaryUser.SUBORDINATE,
                          OrdinaryUser.SUBORDINATE + OrdinaryUser.SUBORDINATES - 1));
      assertThat(status("self", "Groups:").strip())
          .as("positive control: the server is in a group")
          .isEqualTo(Integer.toString(OrdinaryUser.GROUP));
      assertThat(groups("7352.1")).isEmpty();
      assertThat(first).isNotEqualTo(second);
    }
  }

  private static ExecSession sleeper(Machine machine, String marker) {
    ExecSession session =
        Guest.of(machine)
            .exec(
                ExecId.random(),
                ExecRequest.of(Command.of("/usr/bin/sleep", marker), Finished.ENVIRONMENT));
    Eventually.holds("it sleeps", SOON, () -> !process(marker).isEmpty());
    return session;
  }

  /** The last with that in its command line: a companion comes before its guest. */
  private static String process(String word) {
    List<Long> found = Leftovers.processes(word);
    return found.isEmpty() ? "" : Long.toString(found.getLast());
  }

  private static String user(String word) throws IOException {
    return status(process(word), "Uid:").strip().split("\t", -1)[1];
  }

  private static String groups(String word) throws IOException {
    return status(process(word), "Groups:").strip();
  }

  private static String status(String process, String line) throws IOException {
    return Files.readAllLines(Path.of("/proc", process, "status")).stream()
        .filter(text -> text.startsWith(line))
        .map(text -> text.substring(line.length()))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void forkBombEndsAtItsOwnLimitThoughNoGroupCounts() {
    var few = new Limits(DataSize.ofMebibytes(128), 1, 24, DataSize.ofMebibytes(16), 256);
    Guest other = startGuest();
    Machine machine = start(withLimits(few));
    assertThat(applied(machine, "pids-limit")).isFalse();

    Finished bomb = Finished.shell(Guest.of(machine), "for i in $(seq 60); do sleep 2 & done; :");

    assertThat(bomb.stderr()).containsIgnoringCase("fork");
    String many = "for i in $(seq 40); do sleep 1 & done; wait; echo forked";
    assertThat(Finished.shell(other, many).stdout())
        .as("another's is its own")
        .isEqualTo("forked\n");
    Eventually.holds("there is room again", SOON, () -> startsAgain(Guest.of(machine)));
  }

  private static boolean startsAgain(Guest guest) {
    try {
      return Finished.shell(guest, "echo on").stdout().equals("on\n");
    } catch (SandboxException e) {
      return false; // those that were killed are not reaped yet
    }
  }

  @Test
  void imageThatOnlyTheServersUserCanReachIsUsable() throws IOException {
    Path closed = Files.createDirectory(runDirectory().resolve("data"), MachineFolder.OURS);
    Path image = Files.createDirectory(closed.resolve("image"));
    Files.createDirectory(image.resolve("usr"));
    Files.writeString(Files.createDirectory(image.resolve("etc")).resolve("name"), "image\n");
    Files.writeString(closed.resolve("beside"), CANARY);
    HostTree.show(List.of(image));

    Machine machine =
        start(new MachineSpec(new RootImage.Folder(image), spec().limits(), null, null));

    assertThat(Guest.of(machine).ping().version()).isEqualTo(1);
    assertThat(Guest.of(machine).files().stat("/etc/name").size()).isEqualTo(6);
  }

  @Test
  void saysWhatItDoesNotHave() {
    Machine machine = start();
    for (String name : List.of("memory-limit", "pids-limit", "cpu-limit", "freezer")) {
      assertThat(applied(machine, name)).as(name).isFalse();
      assertThat(engine().capabilities().problems())
          .anyMatch(text -> text.startsWith(name) && text.contains("the server is not root"));
    }
    assertThat(engine().overlayProblem().orElseThrow()).contains("only root can attach loop");
  }

  static final class Runc extends OrdinaryUserAttacks {
    Runc() {
      super(OciRuntime.RUNC);
    }
  }

  static final class Crun extends OrdinaryUserAttacks {
    Crun() {
      super(OciRuntime.CRUN);
    }
  }

  static final class Runsc extends OrdinaryUserAttacks {
    Runsc() {
      super(OciRuntime.RUNSC);
    }
  }
}
