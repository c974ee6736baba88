package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * A root that may be written to, by whoever is root inside: what that gives, and what it does not.
 */
@Timeout(90)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class OverlayContract extends MachineTests {
  private static final Limits LIMITS =
      new Limits(DataSize.ofMebibytes(256), 1, 128, DataSize.ofMebibytes(48), 1024);

  private SmallImage image = new SmallImage(Path.of("/nonexistent"));

  @Override
  protected final boolean isolates() {
    return true;
  }

  /** Whether machines have a kernel that is not the host's. */
  protected boolean ownKernel() {
    return false;
  }

  @BeforeAll
  void makeImage() throws IOException {
    image =
        SmallImage.create()
            .with("cat", "ls", "touch", "rm", "mkdir", "mv", "ln", "chmod", "chown", "stat", "id")
            .with("mknod", "head", "readlink", "grep", "sleep", "dd", "mount", "tr", "find", "env")
            .withPython()
            .withShell();
    Files.writeString(image.root().resolve("etc/passwd"), "root:x:0:0::/:/bin/sh\n");
    Files.writeString(image.root().resolve("etc/hosts"), "of the image\n");
    Files.createDirectory(image.root().resolve("var"));
  }

  @AfterAll
  void removeImage() {
    image.delete();
  }

  private MachineSpec on(VolumeId volume) {
    return on(new RootImage.Folder(image.root()), volume, Rootfs.OVERLAY);
  }

  private static MachineSpec on(RootImage image, VolumeId volume, Rootfs rootfs) {
    return new MachineSpec(image, LIMITS, null, volume, false, rootfs);
  }

  private static String shell(Machine machine, String line) {
    Finished finished = Finished.shell(Guest.of(machine), line);
    return finished.stdout() + finished.stderr();
  }

  @Test
  void engineSaysThatItCan() {
    assertThat(engine().overlayProblem()).isEmpty();
  }

  @Test
  void changesAreOfThisVolumeAndComeBack() throws IOException {
    VolumeId volume = VolumeId.random();
    VolumeId copy = VolumeId.random();
    Machine first = start(on(volume));
    assertThat(
            shell(
                first,
                "set -e; id -u; mkdir -p /srv/new; echo 1 > /srv/new/file; chown 5:7 /srv/new/file;"
                    + " rm /usr/bin/env; echo more >> /etc/passwd; touch /workspace/w; mkdir /top;"
                    + " mv /usr/bin/find /usr/bin/seek; stat -c '%u:%g' /srv/new/file /etc/passwd"))
        .isEqualTo("0\n5:7\n0:0\n");
    engine().volumes().orElseThrow().copy(volume, copy);
    shell(first, "echo later > /srv/new/later");
    first.destroy();

    String look =
        "cat /srv/new/* | tr '\\n"
            + "' ' '; stat -c %u:%g /srv/new/file; ls -d /usr/bin/env /usr/bin/seek /workspace/w"
            + " /top 2>/dev/null; grep -c more /etc/passwd";
    String there = "/top\n/usr/bin/seek\n/workspace/w\n1\n";
    assertThat(shell(start(on(volume)), look)).isEqualTo("1 later 5:7\n" + there);
    assertThat(shell(start(on(copy)), look)).isEqualTo("1 5:7\n" + there);
    assertThat(shell(start(on(VolumeId.random())), look))
        .as("nobody else sees any of it")
        .contains("/usr/bin/env\n")
        .doesNotContain("seek\n", "/top");
    assertThat(Files.readString(image.root().resolve("etc/passwd"))).doesNotContain("more");
    assertThat(image.root().resolve("usr/bin/env")).exists();
  }

  @Test
  void rootInsideHasFewCapabilitiesAndThoseOnItsOwnIdsOnly() throws IOException {
    Machine machine = start(on(VolumeId.random()));
    Map<String, String> seen = Profile.ofSandbox(machine).lines();

    // chown, dac_override, fowner, fsetid, setgid, setuid
    for (String set : List.of("Prm", "Eff", "Bnd")) {
      assertThat(seen.get("status.Cap" + set)).as(set).isEqualTo("00000000000000db");
    }
    assertThat(seen.get("status.CapInh")).isEqualTo("0000000000000000");
    assertThat(seen).containsEntry("status.Seccomp", "2");
    if (!ownKernel()) { // gVisor shows neither, and has ids of its own
      assertThat(seen.get("status.CapAmb")).isEqualTo("0000000000000000");
      assertThat(seen).containsEntry("status.NoNewPrivs", "1");
      assertThat(Long.parseLong(String.valueOf(seen.get("uid-map")))).isGreaterThan(1 << 30);
    }
    assertThat(under(seen, "call.", "argument."))
        .hasSizeGreaterThan(30)
        .allSatisfy(
            (call, answer) ->
                assertThat(answer)
                    .as(call)
                    .isIn("Operation_not_permitted", "Function_not_implemented"));
    assertThat(under(seen, "socket."))
        .allSatisfy(
            (family, answer) ->
                assertThat(answer.equals("ok"))
                    .as(family)
                    .isEqualTo(Set.of("unix", "inet", "inet6").contains(family)));
    assertThat(under(seen, "proc.").values()).doesNotContain("full");
    Map<String, String> knobs = under(seen, "knob.");
    assertThat(knobs.remove("self/oom_score_adj")).as("positive control").isEqualTo("writable");
    if (!ownKernel()) { // the others are of a kernel that nobody else has
      assertThat(knobs.values()).doesNotContain("writable");
    }
    assertThat(applied(machine, "no-capabilities")).as("and says so").isFalse();
    assertThat(applied(machine, "read-only-root")).isFalse();
    assertThat(applied(machine, "own-guest-uid")).isNotEqualTo(ownKernel());
  }

  @Test
  void mountsDevicesAndRawSocketsStayOutOfReach() {
    Machine machine = start(on(VolumeId.random()));

    assertThat(shell(machine, "mknod /null c 1 3; mknod /workspace/d b 8 0; mknod /tmp/k c 1 11"))
        .contains("mknod: /null: Operation not permitted")
        .contains("/workspace/d: Operation not permitted")
        .contains("/tmp/k: Operation not permitted");
    assertThat(shell(machine, "mount -t tmpfs x /var || mount -t proc x /tmp || echo none"))
        .startsWith("none\n")
        .contains("/var: permission denied")
        .contains("/tmp: permission denied");
    assertThat(
            python(
                machine,
                """
                import socket, os
                for kind in %s:
                    try:
                        socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP)
                        print('socket')
                    except OSError as e:
                        print(e.strerror)
                try:
                    os.chroot('/tmp')
                except OSError as e:
                    print(e.strerror)
                """
                    // gVisor lets everybody ping, with a network that has nobody but itself.
                    .formatted(
                        ownKernel() ? "[socket.SOCK_RAW]" : "socket.SOCK_RAW, socket.SOCK_DGRAM")))
        .doesNotContain("socket\n")
        .endsWith("Operation not permitted\n");
    if (!ownKernel()) { // which does not show it; that none does is tried below
      assertThat(shell(machine, "grep -v 'nosuid' /proc/self/mounts | grep -v ' /dev/\\| /proc/'"))
          .as("mounts on which programs could run as their owner")
          .isEmpty();
    }
    assertThat(shell(machine, "touch /dev/x /opt/carrel/x /run/carrel/x /proc/sys/x 2>&1"))
        .hasLineCount(ownKernel() ? 3 : 4); // gVisor's devices are in its own memory
    assertThat(shell(machine, "touch /run/x /dev/shm/x /tmp/x && echo ok")).isEqualTo("ok\n");
  }

  @Test
  void programsOfAnotherOwnerRunAsWhoStartsThem() {
    Machine machine = start(on(VolumeId.random()));

    assertThat(
            python(
                machine,
                """
                import os, shutil, subprocess
                shutil.copy('/usr/bin/id', '/srv-id')
                os.chmod('/srv-id', 0o6755)
                print(oct(os.stat('/srv-id').st_mode)[-4:])
                def leave():
                    os.setgroups([]); os.setresgid(1000, 1000, 1000); os.setresuid(1000, 1000, 1000)
                print(subprocess.run(['/srv-id', '-u'], preexec_fn=leave, capture_output=True, text=True).stdout)
                caps = subprocess.run(['/bin/grep', 'Cap', '/proc/self/status'], preexec_fn=leave, capture_output=True, text=True)
                print(*{l.split()[1] for l in caps.stdout.splitlines() if not l.startswith('CapBnd')})
                """))
        .isEqualTo("6755\n1000\n\n0000000000000000\n");
  }

  @Test
  void guestCannotBeReadChangedOrEnded() {
    Machine machine = start(on(VolumeId.random()));

    var closed = new ArrayList<>(List.of("root/etc/passwd", "mem", "cwd/x"));
    if (!ownKernel()) { // gVisor shows what says nothing: an environment, addresses, null streams
      closed.addAll(List.of("environ", "maps", "fd/0"));
    }
    for (String entry : closed) {
      assertThat(Finished.shell(Guest.of(machine), "head -c 1 /proc/1/" + entry).code())
          .as(entry)
          .isNotZero();
    }
    String change = "echo 1 > /proc/1/oom_score_adj; echo x > /proc/1/comm";
    // gVisor keeps the first as a number that means nothing to it.
    assertThat(shell(machine, change)).contains(ownKernel() ? "I/O error" : "denied");
    // Also as the guest's own id, which root may take: PID 1 hears no signal from inside.
    String storm =
        """
        import os, resource, signal
        def tries(what, *arguments):
            try:
                what(*arguments)
                print(what.__name__, flush=True)
            except OSError as e:
                print('refused', flush=True)
        for uid in %s:
            if os.fork() == 0:
                if uid: os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
                tries(resource.prlimit, 1, resource.RLIMIT_NOFILE, (8, 8))
                tries(os.sched_setaffinity, 1, {0})
                tries(open, '/proc/1/mem', 'rb')
                os.kill(1, signal.SIGKILL) if uid else tries(os.kill, 1, signal.SIGKILL)
                os._exit(0)
            os.wait()
        """;
    if (ownKernel()) { // its PID 1 hears its own id: a machine can end itself that way
      assertThat(python(machine, storm.formatted("[0]"))).isEqualTo("refused\n".repeat(4));
    } else {
      assertThat(python(machine, storm.formatted("0, 65533"))).isEqualTo("refused\n".repeat(7));
      python(
          machine,
          """
          import os, signal
          os.setgroups([]); os.setresgid(65533, 65533, 65533); os.setresuid(65533, 65533, 65533)
          os.kill(-1, signal.SIGKILL)
          """);
    }
    assertThat(shell(machine, "echo on")).isEqualTo("on\n");
    assertThat(machine.death()).isEmpty();
  }

  /** Who takes the guest's place is who the server then talks to. */
  @Test
  void wayToTheGuestIsNotSeenInside() {
    Machine machine = start(on(VolumeId.random()));

    assertThat(shell(machine, "find / -xdev -type s; find /run /tmp /workspace -type s")).isEmpty();
    assertThat(shell(machine, "mkdir /run/carrel/guest; touch /run/carrel/guest/guest.sock"))
        .hasLineCount(2);
    shell(machine, "rm -rf /run/carrel; mv /run/carrel /run/away");
    assertThat(shell(machine, "echo on")).isEqualTo("on\n");
  }

  @Test
  void machineThatWasKilledLeavesItsChangesAndNothingElse() {
    VolumeId volume = VolumeId.random();
    Machine killed = start(on(volume));
    shell(killed, "echo kept > /srv-kept; sync");
    Leftovers.processes(killed.id().value())
        .forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));

    Eventually.holds(
        "its processes are gone",
        Duration.ofSeconds(30),
        () -> Leftovers.processes(killed.id().value()).isEmpty());

    try (Engine next = newEngine()) {
      for (Machine dead : next.recover()) {
        assertThat(dead.death()).isPresent();
        dead.destroy();
      }
      assertThat(Leftovers.of(killed.id().value(), runDirectory())).isEmpty();
    }
    assertThat(shell(start(on(volume)), "cat /srv-kept")).isEqualTo("kept\n");
  }

  @Test
  void sizeIsTheVolumesAlsoForRoot() throws IOException {
    VolumeId volume = VolumeId.random();
    Machine machine = start(on(volume));

    assertThat(shell(machine, "dd if=/dev/zero of=/usr/big bs=1M count=64 2>&1; rm /usr/big"))
        .contains("No space left");
    assertThat(
            python(
                machine,
                """
                import os
                os.mkdir('/many')
                try:
                    for i in range(200000):
                        os.close(os.open('/many/%d' % i, os.O_CREAT, 0o600))
                except OSError as e:
                    print(e.strerror)
                """))
        .isEqualTo("No space left on device\n");
    assertThat(Files.size(runDirectory().resolve("volumes").resolve(volume + ".img")))
        .isLessThanOrEqualTo(LIMITS.disk().bytes());
    assertThat(shell(machine, "rm -r /many && touch /room && echo ok")).isEqualTo("ok\n");
  }

  @Test
  void whatIsInTheWayOfOursIsReplacedAndNeverFollowed() throws IOException {
    Path secret = Files.createTempDirectory("carrel-secret-");
    try {
      VolumeId volume = VolumeId.random();
      Machine first = start(on(volume));
      assertThat(shell(first, "mv /opt /gone && ln -s %s /opt && echo moved".formatted(secret)))
          .startsWith("moved\n");
      first.destroy();
      Machine second = start(on(volume));
      assertThat(shell(second, "ls /opt; echo x > /workspace/x && echo ok"))
          .isEqualTo("carrel\nok\n");
      assertThat(secret).isEmptyDirectory();
    } finally {
      Leftovers.delete(secret);
    }
  }

  @Test
  void volumesOfTheOtherKindAreRefused() {
    VolumeId plain = VolumeId.random();
    VolumeId divided = VolumeId.random();
    var folder = new RootImage.Folder(image.root());
    Machine forger = start(on(folder, plain, Rootfs.READ_ONLY));
    shell(forger, "mkdir -p upper/etc work workspace; echo forged > upper/etc/passwd");
    forger.destroy();
    start(on(divided)).destroy();

    assertRefused(on(plain), ErrorCode.WRONG_STATE, "without a writable root");
    assertRefused(on(folder, divided, Rootfs.READ_ONLY), ErrorCode.WRONG_STATE, "rootfs overlay");
    assertRefused(
        on(new RootImage.Host(), VolumeId.random(), Rootfs.OVERLAY),
        ErrorCode.NOT_SUPPORTED,
        "host");
  }

  private void assertRefused(MachineSpec spec, ErrorCode code, String words) {
    SandboxId id = SandboxId.random();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(id, spec))
        .withMessageContaining(words)
        .extracting(SandboxException::code)
        .isEqualTo(code);
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
  }

  private static String python(Machine machine, String program) {
    Finished finished =
        Finished.run(Guest.of(machine), Command.of("/usr/bin/python3", "-c", program));
    return finished.stdout() + finished.stderr();
  }

  /** The lines whose key starts so, by the rest of the key. */
  private static Map<String, String> under(Map<String, String> lines, String... prefixes) {
    var found = new TreeMap<String, String>();
    lines.forEach(
        (key, value) -> {
          for (String prefix : prefixes) {
            if (key.startsWith(prefix)) {
              found.put(key.substring(prefix.length()), value);
            }
          }
        });
    return found;
  }
}
