package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.engine.testkit.SmallImage;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The child that is made before anybody asks for its sandbox. */
@Timeout(60)
final class BlankIT extends MachineTests {
  private static final Duration SOON = Duration.ofSeconds(10);
  private static final Path IDS = Path.of("/run/carrel-ids/slots");
  // Everything that could differ, but for what tells one sandbox from another.
  private static final String LOOK =
      """
      cut -d' ' -f5,6 /proc/self/mountinfo | sort
      grep -E 'Cap|NoNewPrivs|Seccomp|[UG]id|Groups' /proc/self/status
      cat /proc/self/cgroup /proc/self/limits; ls -l /proc/self/fd | wc -l
      ls -ln /dev /etc /run/carrel | sed 's/[A-Z][a-z][a-z] .[0-9] [0-9:]*//'
      cat /proc/net/dev; umask; nice; cut -d' ' -f18,19 /proc/1/stat; find / -xdev -writable 2>/dev/null | grep -v ^/proc
      """;

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void sandboxMadeOfABlankIsAsAnyOther() {
    Machine first = start();
    long blank = awaitBlank();
    Machine second = start();

    assertThat(((NativeMachine) second).pid()).isEqualTo(blank);
    assertThat(shell(second, LOOK)).isEqualTo(shell(first, LOOK));
    assertThat(shell(second, "hostname; cat /etc/hostname"))
        .isEqualTo("%1$s\n%1$s\n".formatted(second.id()));
    assertThat(shell(second, "cat /etc/hosts")).contains(" " + second.id() + "\n");
    assertThat(measures(second)).isEqualTo(measures(first));
    second.destroy();
    assertThat(Leftovers.of(second.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void blankGoesWhenNobodyAsks() {
    start();
    awaitBlank();

    Eventually.holds("it is gone", SOON, () -> blanks().isEmpty() && nothingIsLeft());
  }

  @Test
  void blankOutlivesNoServer() {
    Machine machine = start();
    ProcessHandle blank = ProcessHandle.of(awaitBlank()).orElseThrow();
    ProcessHandle server = server();
    server.destroyForcibly();

    Eventually.holds("it is gone", SOON, () -> !blank.isAlive() && !server.isAlive());
    assertThat(shell(machine, "echo on")).isEqualTo("on\n");
    assertThat(machine.death()).as("asked of a new server").isEmpty();
    assertThat(nothingIsLeft()).isTrue();
  }

  @Test
  void blankEndsThoughItsServerStandsStill() throws Exception {
    start();
    long blank = awaitBlank();
    String server = String.valueOf(server().pid());
    SandboxLifeIT.signal("-STOP", server);
    try {
      Eventually.holds(
          "it is gone",
          Duration.ofSeconds(20),
          () -> !Leftovers.processes("guest blank").contains(blank));
    } finally {
      SandboxLifeIT.signal("-CONT", server);
    }
    assertThat(shell(start(), "echo on")).isEqualTo("on\n");
  }

  /** It may wait for long, and whoever waits for the end of a connection must see that. */
  @Test
  void blankKeepsNothingOfTheServerOpen() {
    start();

    assertThat(opened(awaitBlank()).filter(name -> name.startsWith("socket:"))).hasSize(1);
  }

  @Test
  void sandboxHasWhatCameToItsImageAfterTheBlank() throws Exception {
    Path image = SmallImage.create().with("dash", "cat").root();
    try {
      Files.createSymbolicLink(image.resolve("bin"), Path.of("usr/bin"));
      Files.createSymbolicLink(image.resolve("usr/bin/sh"), Path.of("dash"));
      start(of(image));
      awaitBlank();
      Files.writeString(image.resolve("later"), "there\n");

      assertThat(shell(start(of(image)), "cat /later")).isEqualTo("there\n");
    } finally {
      Leftovers.delete(image);
    }
  }

  private static List<String> measures(Machine machine) {
    return machine.isolation().measures().stream()
        .map(measure -> measure.name() + " " + measure.applied())
        .toList();
  }

  private static MachineSpec of(Path image) {
    return new MachineSpec(new RootImage.Folder(image), spec().limits(), null, null);
  }

  private static String shell(Machine machine, String line) {
    return Finished.shell(Guest.of(machine), line).stdout();
  }

  private ProcessHandle server() {
    long pid = Leftovers.parents(" --run " + runDirectory() + " ").getFirst();
    return ProcessHandle.of(pid).orElseThrow();
  }

  private long awaitBlank() {
    try {
      // The folder first: to look at all processes may take as long as it stays.
      Eventually.holds("one is made ahead", SOON, () -> Files.exists(folder()));
      Eventually.holds("it runs", SOON, () -> !blanks().isEmpty());
    } catch (AssertionError e) {
      throw new AssertionError("the server says: " + log(), e);
    }
    return blanks().getFirst();
  }

  private String log() {
    try {
      return Files.readString(runDirectory().resolve("spawn.log"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private List<Long> blanks() {
    List<Long> all = Leftovers.processes("guest blank");
    return server().children().map(ProcessHandle::pid).filter(all::contains).toList();
  }

  private Path folder() {
    return runDirectory().resolve("blank");
  }

  private boolean nothingIsLeft() {
    try {
      return !Files.exists(folder())
          && Arrays.stream(Files.readString(IDS).split("\0+", -1))
              .noneMatch(folder().toString()::equals);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<String> opened(long pid) {
    try (Stream<Path> links = Files.list(Path.of("/proc/" + pid + "/fd"))) {
      return links.map(link -> target(link).toString()).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path target(Path link) {
    try {
      return Files.readSymbolicLink(link);
    } catch (IOException e) {
      return link; // gone while we looked
    }
  }
}
