package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.Guest;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.Machine.Death;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the contract cannot know: daemons, their labels and events, other servers, images. */
@Timeout(120)
final class DockerLifeIT extends MachineTests {
  private static final Duration SOON = Duration.ofSeconds(20);

  private static @Nullable OwnDaemon own;

  @BeforeAll
  static void startDaemon() throws IOException {
    own = OwnDaemon.start();
  }

  @AfterAll
  static void stopDaemon() throws IOException {
    try {
      assertThat(client().list(Map.of())).isEmpty();
    } finally {
      ownDaemon().close();
    }
  }

  private static OwnDaemon ownDaemon() {
    if (own == null) {
      throw new IllegalStateException("no daemon was started");
    }
    return own;
  }

  private static Daemon client() {
    return ownDaemon().client();
  }

  @Override
  protected DaemonSettings daemon() {
    return ownDaemon().settings();
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
    Engine others = openEngine(settingsFor(other, ownDaemon().settings()));
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
    long pid = Leftovers.processes(machine.id().value()).getFirst();
    // The kernel looks for whom to kill by size, and the guest is small: so it is named.
    Files.writeString(Path.of("/proc/" + pid + "/oom_score_adj"), "1000");

    // Each takes a part only: what counts for a whole of the memory is the guest alone.
    String hungry = "python3 -c 'import time; x = bytearray(12 << 20); time.sleep(60)' &";
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                Finished.shell(
                    Guest.of(machine), "for i in 1 2 3 4 5 6 7 8; do " + hungry + " done; wait"));

    Eventually.holds("its death is known", SOON, () -> machine.death().isPresent());
    assertThat(machine.death().orElseThrow().cause()).isEqualTo(Death.Cause.OUT_OF_MEMORY);
  }

  @Test
  void imageThatSomebodyRemovedIsMadeAgain() throws IOException {
    start().destroy();
    String socket = ownDaemon().settings().host().substring("unix://".length());
    String said =
        run(
            "curl -sf --unix-socket "
                + socket
                + " -X POST 'http://docker/v1.41/images/prune?filters=%7B%22dangling%22%3A%5B%22false%22%5D%7D'");
    assertThat(said).contains("carrel-root");

    assertThat(startGuest().ping().version()).isEqualTo(1);
  }

  @Test
  void folderIsARootAlsoWithoutPlacesForTheDaemonsFiles() throws IOException {
    Path image = Files.createTempDirectory("carrel-image-");
    try {
      copyShell(image);
      Files.createDirectory(image.resolve("etc"));
      Files.writeString(image.resolve("etc/passwd"), "inside:x:1000:1000::/:/bin/sh\n");
      var spec = new MachineSpec(new RootImage.Folder(image), spec().limits(), null, null);
      Guest guest = Guest.of(start(spec));

      assertThat(Finished.shell(guest, "cat /etc/passwd").stdout()).startsWith("inside:");
      assertThat(Finished.shell(guest, "cat /etc/hosts").stdout()).contains("localhost sb");
      assertThat(Finished.shell(guest, "cat /etc/resolv.conf").stdout()).isEmpty();
      assertThat(Finished.shell(guest, "echo x > /etc/x; echo x > /usr/x").stderr())
          .contains("Read-only file system");
      try (var names = Files.list(image.resolve("etc"))) {
        assertThat(names).containsExactly(image.resolve("etc/passwd"));
      }
    } finally {
      engine().recover();
      Leftovers.delete(image);
    }
  }

  /**
   * A shell and {@code cat} with what they are linked to, at the places where the host has them.
   */
  private static void copyShell(Path image) throws IOException {
    for (String folder : List.of("usr/bin", "usr/lib", "usr/lib64")) {
      Files.createDirectories(image.resolve(folder));
    }
    for (String link : List.of("bin", "lib", "lib64")) {
      Files.createSymbolicLink(image.resolve(link), Path.of("usr", link));
    }
    run(
        "cd / && cp -L --parents $(ldd /usr/bin/dash /usr/bin/cat | grep -o '/[^ ]*so[^ ]*' | sort -u"
            + " | xargs -n1 realpath) /usr/bin/dash /usr/bin/cat "
            + image);
    run(
        "for f in $(ldd /usr/bin/dash /usr/bin/cat | grep -o '/[^ ]*so[^ ]*' | sort -u); do cp -L"
            + " --remove-destination $f "
            + image
            + "/$(dirname $f)/; done; ln -sf dash "
            + image
            + "/usr/bin/sh; chmod -R a+rX "
            + image);
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
