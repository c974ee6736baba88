package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.Preload;
import dev.carrel.spi.RootImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * An image whose interpreter is an attacker: its zygote runs it outside of every sandbox, with the
 * id that owns the image's own.
 */
@Timeout(90)
final class HostileZygoteIT extends MachineTests {
  private static final Pattern LIBRARY = Pattern.compile("(/\\S+) \\(0x");
  private static final Duration SOON = Duration.ofSeconds(20);

  private Path image;

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @BeforeEach
  void makeImage() throws Exception {
    image = Files.createTempDirectory("carrel-image-");
    Files.setPosixFilePermissions(image, PosixFilePermissions.fromString("rwxr-xr-x"));
    for (String program : List.of("dash", "cat", "ls", "sleep", "id")) {
      install(Path.of("/usr/bin", program));
    }
    Files.createSymbolicLink(image.resolve("bin"), Path.of("usr/bin"));
    Files.createSymbolicLink(image.resolve("usr/bin/sh"), Path.of("dash"));
    Files.createDirectories(image.resolve("etc"));
    Files.createDirectories(image.resolve("tmp"));
  }

  @AfterEach
  void removeImage() {
    Leftovers.delete(image);
  }

  @Test
  void reachesNobodyButTheSandboxesOfItsOwnImage() throws Exception {
    Machine other = start();
    long guest = ((NativeMachine) other).pid();
    Process host = new ProcessBuilder("sleep", "1000").start();
    try {
      // What it says first on its socket goes into the server's log, line by line and bounded.
      interpreter(
          """
          said="id=$(id -u) root=$(ls -d /root /home /etc/shadow 2>/dev/null)"
          kill -9 %d 2>/dev/null && said="$said other"
          kill -9 %d 2>/dev/null && said="$said host"
          kill -9 $PPID 2>/dev/null && said="$said holder"
          for place in /workspace /opt/carrel /usr /etc; do
            (echo x > $place/x) 2>/dev/null && said="$said $place"
          done
          for process in /proc/[0-9]*; do
            cat $process/environ > /dev/null 2>&1 && said="$said $process"
          done
          kill -9 -1
          printf "F%%s end." "$said" >&3
          """
              .formatted(guest, host.pid()));
      Machine own = startOwn();
      assertThat(own.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN))).isFalse();
      Eventually.holds("it has said what it could do", SOON, () -> log().contains("end."));

      assertThat(log()).containsPattern("id=1[0-9]{9} root= end\\.");
      assertThat(Finished.shell(Guest.of(other), "echo on").stdout()).isEqualTo("on\n");
      assertThat(host.isAlive()).isTrue();
      assertThat(WarmKernel.in(other, Preload.PLAIN).run("print(1)")).isEqualTo("1\n");
      Eventually.holds("positive control: its own it may end", SOON, () -> own.death().isPresent());
    } finally {
      host.destroyForcibly();
    }
  }

  @Test
  void thatNeverAnswersIsEndedAndHoldsNobodyUp() throws Exception {
    interpreter("printf R >&3; sleep 1000\n");
    Machine machine = startOwn();
    Eventually.holds(
        "it calls itself ready",
        SOON,
        () -> machine.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN)));

    Eventually.holds("what it was asked for ends", SOON, () -> Guest.of(machine).list().isEmpty());
    assertThat(log()).contains("it is stuck");
    machine.destroy();
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void movesNoProcessOfTheHostIntoTheGroupsOfItsSandbox() throws Exception {
    Process host = new ProcessBuilder("sleep", "1000").start();
    try {
      Path membership = Path.of("/proc", String.valueOf(host.pid()), "cgroup");
      String before = Files.readString(membership);
      compileInterpreter("group_thief.c", "-DVICTIM=" + host.pid());
      Machine own = startOwn();
      Eventually.holds(
          "it calls itself ready",
          SOON,
          () -> own.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN)));
      Eventually.holds("it has tried", SOON, () -> log().contains("end."));

      assertThat(Files.readString(membership)).isEqualTo(before);
      assertThat(log()).contains("others=0").containsPattern("itself=[1-9]");
      own.destroy();
      assertThat(host.isAlive()).isTrue();
    } finally {
      host.destroyForcibly();
    }
  }

  private Machine startOwn() {
    return start(new MachineSpec(new RootImage.Folder(image), spec().limits(), null, null));
  }

  private String log() {
    try {
      return Files.readString(runDirectory().resolve("spawn.log"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void interpreter(String script) throws IOException {
    Path file = image.resolve("usr/bin/python3");
    Files.writeString(file, "#!/bin/sh\n" + script);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private void compileInterpreter(String source, String... options) throws Exception {
    Path file = image.resolve("usr/bin/python3");
    Path code = image.resolve(source);
    try (var in = Objects.requireNonNull(HostileZygoteIT.class.getResourceAsStream(source))) {
      Files.copy(in, code);
    }
    var command = new ArrayList<>(List.of("cc", "-static", "-o", file.toString()));
    command.addAll(List.of(options));
    command.add(code.toString());
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  /** Copies a program and what it is linked with. */
  private void install(Path program) throws Exception {
    copy(program);
    Process ldd = new ProcessBuilder("ldd", program.toString()).start();
    String text = new String(ldd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(ldd.waitFor()).isZero();
    var libraries = LIBRARY.matcher(text);
    while (libraries.find()) {
      copy(Path.of(libraries.group(1)));
    }
  }

  private void copy(Path file) throws IOException {
    Path target = image.resolve(file.toString().substring(1));
    Files.createDirectories(target.getParent());
    Files.copy(
        file.toRealPath(),
        target,
        StandardCopyOption.COPY_ATTRIBUTES,
        StandardCopyOption.REPLACE_EXISTING);
  }
}
