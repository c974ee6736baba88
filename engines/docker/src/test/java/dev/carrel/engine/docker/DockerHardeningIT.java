package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.namespaces.NativeEngineProvider;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What a command finds around itself in a container, beside what it finds in a sandbox of the
 * engine {@code native}: the same walls, seen by the same program.
 */
final class DockerHardeningIT {
  private static final MachineSpec SPEC =
      new MachineSpec(
          new RootImage.Host(),
          new Limits(DataSize.ofMebibytes(256), 1, 128, DataSize.ofMebibytes(32), 512),
          null,
          null);

  private static OwnDaemon daemon;
  private static Path run;
  private static Engine docker;
  private static Engine launcher;
  private static Machine container;
  private static Machine sandbox;
  private static Map<String, String> inside;
  private static Map<String, String> beside;

  @BeforeAll
  static void start() throws IOException {
    daemon = OwnDaemon.start();
    run = Files.createTempDirectory("carrel-");
    Path lib = Path.of(System.getProperty("carrel.lib"));
    var settings =
        new EngineSettings(
            run, run.resolve("volumes"), lib, Set.of(), WarmSettings.defaults(), daemon.settings());
    docker = new DockerEngineProvider().create(settings);
    launcher = new NativeEngineProvider().create(settings);
    container = docker.start(SandboxId.random(), SPEC);
    sandbox = launcher.start(SandboxId.random(), SPEC);
    inside = profile(container);
    beside = profile(sandbox);
  }

  @AfterAll
  static void leaveNothing() throws IOException {
    container.destroy();
    sandbox.destroy();
    docker.close();
    launcher.close();
    daemon.close();
    Leftovers.delete(run);
  }

  private static Map<String, String> profile(Machine machine) throws IOException {
    Path program =
        Path.of(
            System.getProperty("carrel.root"),
            "engines/native/src/test/resources/dev/carrel/engine/namespaces/profile.py");
    Finished finished =
        Finished.run(
            Guest.of(machine), Command.of("/usr/bin/python3", "-c", Files.readString(program)));
    assertThat(finished.code()).as(finished.stderr()).isZero();
    var lines = new TreeMap<String, String>();
    finished
        .stdout()
        .lines()
        .map(line -> line.split(" ", 2))
        .forEach(words -> lines.put(words[0], words[1]));
    return lines;
  }

  /** The lines whose key starts so. */
  private static Map<String, String> under(Map<String, String> profile, String prefix) {
    var found = new TreeMap<>(profile);
    found.keySet().removeIf(key -> !key.startsWith(prefix));
    assertThat(found).as(prefix).isNotEmpty();
    return found;
  }

  @Test
  void everyMeasureOfTheNativeEngineIsApplied() {
    assertThat(applied(container)).containsAll(applied(sandbox)).hasSizeGreaterThan(20);
  }

  private static List<String> applied(Machine machine) {
    return machine.isolation().measures().stream()
        .filter(Isolation.Measure::applied)
        .map(Isolation.Measure::name)
        .toList();
  }

  @Test
  void callsSocketsAndPrivilegesAreThoseOfTheNativeEngine() {
    for (String part : List.of("call.", "argument.", "need.", "socket.", "status.")) {
      assertThat(under(inside, part)).as(part).isEqualTo(under(beside, part));
    }
    assertThat(inside.get("status.CapBnd")).isEqualTo("0000000000000000");
    assertThat(inside.get("status.Seccomp")).isEqualTo("2");
    assertThat(inside.get("links")).isEqualTo("lo");
    assertThat(inside.get("fds")).isEqualTo("none");
  }

  @Test
  void idsAreOfNoUserOfTheHostAndOfNoOtherSandbox() {
    Machine second = docker.start(SandboxId.random(), SPEC);
    try {
      String map = Finished.shell(Guest.of(second), "cat /proc/self/uid_map").stdout();
      assertThat(map.strip().split("\\s+", -1)[1]).isNotEqualTo(inside.get("uid-map"));
      assertThat(map.strip().split("\\s+", -1)[2]).isEqualTo("65536");
    } finally {
      second.destroy();
    }
    assertThat(Long.parseLong(inside.get("uid-map"))).isGreaterThan(1 << 30);
  }

  @Test
  void procAndSysTellNothingOfTheHostAndItsKnobsCannotBeTurned() {
    assertThat(under(inside, "proc.").values()).doesNotContain("full");
    assertThat(under(inside, "host.").values()).doesNotContain("full");
    Map<String, String> knobs = under(inside, "knob.");
    assertThat(knobs.remove("knob.self/oom_score_adj")).isEqualTo("writable");
    assertThat(knobs.values()).doesNotContain("writable");
    assertThat(shell("ls -A /sys; cat /etc/resolv.conf")).isEmpty();
    assertThat(shell("cat /etc/hostname")).isEqualTo(container.id() + "\n");
  }

  @Test
  void onlyTheSandboxsOwnPlacesCanBeWritten() {
    var writable = new TreeSet<String>();
    under(inside, "mount.")
        .forEach(
            (place, options) -> {
              if (List.of(options.split(",", -1)).contains("rw")) {
                writable.add(place.substring("mount.".length()));
              }
            });
    // The masks in /proc are the null device; what is below /sys lies under its mask.
    writable.removeIf(place -> place.startsWith("/proc/") && !place.startsWith("/proc/sys"));
    writable.removeIf(place -> place.startsWith("/sys/") || place.startsWith("/dev/"));
    assertThat(writable)
        .containsExactly("/dev", "/proc", "/run/carrel/guest", "/tmp", "/workspace");
    String tries =
        "touch /x /usr/x /etc/x /opt/carrel/x /dev/x /proc/x /run/x /run/carrel/guest/x /sys/x"
            + " 2>/dev/null; ls /x /usr/x /etc/x /opt/carrel/x /dev/x /run/x /sys/x 2>/dev/null;"
            + " ls /run/carrel/guest 2>&1; touch /workspace/a /tmp/b /dev/shm/c && echo writes";
    assertThat(shell(tries).lines().toList())
        .hasSize(2)
        .satisfies(lines -> assertThat(lines.getFirst()).contains("denied"))
        .endsWith("writes");
  }

  @Test
  void limitsAreInForce() {
    for (String name : List.of("CORE", "NOFILE", "MSGQUEUE", "NICE", "RTPRIO")) {
      assertThat(inside.get("limit." + name)).as(name).isEqualTo(beside.get("limit." + name));
    }
    assertThat(shell("dd if=/dev/zero of=/workspace/big bs=1M count=64 2>&1; rm /workspace/big"))
        .contains("No space left");
    assertThat(shell("cd /tmp && seq 200000 | xargs touch 2>&1 | tail -1; rm -rf /tmp/*"))
        .contains("No space left");
    assertThat(shell("ls /proc/1/fd 2>&1; cat /proc/1/environ /proc/1/mem 2>&1").lines().toList())
        .hasSize(3)
        .allMatch(line -> line.contains("denied"));
  }

  private static String shell(String line) {
    return Finished.shell(Guest.of(container), line).stdout();
  }
}
