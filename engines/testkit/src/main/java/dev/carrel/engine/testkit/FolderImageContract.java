package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.guest.Guest;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every engine that isolates promises of a folder as root, also of one made to deceive. */
@Timeout(60)
public abstract class FolderImageContract extends MachineTests {
  private static final String CANARY = "canary-7f3a";
  private static final int MANY = 1000;

  private Path image = Path.of("");
  private Path secret = Path.of("");

  @Override
  protected final boolean isolates() {
    return true;
  }

  /** What this engine puts into an image's /etc. */
  protected Set<String> addedToEtc() {
    return Set.of();
  }

  @BeforeEach
  void makeImage() throws Exception {
    image = SmallImage.create().with("dash", "cat", "ls", "touch", "readlink").root();
    secret = Files.createTempDirectory("carrel-secret-");
    Files.writeString(secret.resolve("hosts"), CANARY);
    secret.toFile().setExecutable(true, false);
    secret.toFile().setReadable(true, false);
    Files.createSymbolicLink(image.resolve("bin"), Path.of("usr/bin"));
    Files.createSymbolicLink(image.resolve("usr/bin/sh"), Path.of("dash"));
    Files.createDirectory(image.resolve("etc"));
    Files.writeString(image.resolve("etc/passwd"), "inside:x:1000:1000::/:/bin/sh\n");
  }

  @AfterEach
  void removeImage() {
    Leftovers.delete(image);
    Leftovers.delete(secret);
  }

  @Test
  void imageIsTheRootAndOursComesOnTop() throws IOException {
    Files.createDirectories(image.resolve("opt/tool"));
    Files.writeString(image.resolve("opt/tool/file"), "tool");
    Files.writeString(image.resolve("etc/hostname"), "image\n");
    Files.writeString(image.resolve("top"), "top");

    assertThat(output("cat /etc/passwd /opt/tool/file /top"))
        .isEqualTo("inside:x:1000:1000::/:/bin/sh\ntooltop");
    assertThat(output("ls /opt/carrel /dev /proc/self > /tmp/x && touch /workspace/y && echo ok"))
        .isEqualTo("ok\n");
    assertThat(output("cat /etc/hostname")).startsWith("sb");
    var names = new TreeSet<>(addedToEtc());
    names.addAll(List.of("hostname", "passwd"));
    assertThat(
            output("touch /etc/x /usr/x /top /opt/x 2>/dev/null; ls -l /etc > /dev/null; ls /etc"))
        .isEqualTo(String.join("\n", names) + "\n");
    assertThat(image.resolve("etc/ld.so.preload")).doesNotExist();
    assertThat(Files.readString(image.resolve("etc/hostname"))).isEqualTo("image\n");
  }

  @Test
  void linksInTheImageLeadNowhereOutsideIt() throws IOException {
    for (String name : List.of("tmp", "workspace", "proc", "dev", "run", "opt", "home", "sys")) {
      Files.createSymbolicLink(image.resolve(name), secret);
    }
    Files.createSymbolicLink(image.resolve("etc/hosts"), secret.resolve("hosts"));
    Files.createSymbolicLink(image.resolve("etc/resolv.conf"), Path.of("../../../etc/shadow"));
    Files.createSymbolicLink(image.resolve("up"), Path.of("../../../../../.."));

    assertThat(output("cat /etc/hosts /etc/resolv.conf /home/hosts /run/hosts /opt/hosts 2>&1"))
        .doesNotContain(CANARY)
        .doesNotContain("root:");
    assertThat(output("readlink /home; ls /up /sys 2>/dev/null; echo x > /tmp/x && cat /tmp/x"))
        .startsWith(secret + "\n")
        .endsWith("x\n")
        .doesNotContain("lost+found");
    try (var entries = Files.list(secret)) {
      assertThat(entries).containsExactly(secret.resolve("hosts"));
    }
    assertThat(Files.readString(secret.resolve("hosts"))).as("positive control").contains(CANARY);
  }

  /** Every distribution has one: /root. */
  @Test
  void folderOfRootAloneIsClosedAndKeepsNoMachineFromStarting() throws IOException {
    Path closed = Files.createDirectory(image.resolve("root"));
    Files.writeString(closed.resolve("file"), CANARY);
    Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));

    assertThat(output("cat /root/file 2>/dev/null; echo started")).isEqualTo("started\n");
  }

  @Test
  void hostsRootIsNoImage() {
    for (String path : List.of("/", "/.", "/proc/..")) {
      assertRefused(Path.of(path));
    }
  }

  @Test
  void nothingIsMadeForEachFileOfTheImage() throws IOException {
    Machine small = start(onImage());
    int few = entries(small);
    Path share = Files.createDirectories(image.resolve("usr/share/many"));
    for (int i = 0; i < MANY; i++) {
      Files.createFile(share.resolve("f" + i));
    }

    Machine large = start(onImage());

    assertThat(Finished.shell(Guest.of(large), "ls /usr/share/many").stdout().lines())
        .hasSize(MANY);
    assertThat(entries(large)).isLessThan(few + MANY / 10);
    // Nor elsewhere, in memory or in a daemon's folders: what is inside is the file itself.
    Path last = Files.writeString(share.resolve("f" + (MANY - 1)), "written later");
    assertThat(Finished.shell(Guest.of(large), "cat /usr/share/many/f" + (MANY - 1)).stdout())
        .isEqualTo("written later");
    assertThat(Files.getAttribute(last, "unix:nlink")).as("its names").isEqualTo(1);
  }

  /** What the engine keeps of a machine. */
  private int entries(Machine machine) throws IOException {
    try (var paths = Files.walk(runDirectory().resolve(machine.id().value()))) {
      return Math.toIntExact(paths.count());
    }
  }

  private MachineSpec onImage() {
    return new MachineSpec(new RootImage.Folder(image), spec().limits(), null, null);
  }

  @Test
  void imageWithTooManyEntriesIsRefused() throws IOException {
    for (int i = 0; i < 200; i++) {
      Files.createDirectory(image.resolve("d" + i));
    }
    assertRefused(image);
  }

  private void assertRefused(Path path) {
    SandboxId id = SandboxId.random();
    var spec = new MachineSpec(new RootImage.Folder(path), spec().limits(), null, null);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(id, spec))
        .extracting(SandboxException::code)
        .isEqualTo(ErrorCode.IMAGE_NOT_FOUND);
    assertThat(Leftovers.of(id.value(), runDirectory())).isEmpty();
  }

  private String output(String line) {
    Finished finished = Finished.shell(Guest.of(start(onImage())), line);
    return finished.stdout() + finished.stderr();
  }
}
