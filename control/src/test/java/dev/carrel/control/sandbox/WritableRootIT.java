package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.files.WriteFile;
import dev.carrel.engine.testkit.SmallImage;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SnapshotId;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packages installed into a running sandbox, and where they are seen afterwards. */
final class WritableRootIT {
  private static SmallImage image;
  private static Path deb;

  private ControlFixture fixture;

  @BeforeAll
  static void makeImage(@TempDir Path folder) throws Exception {
    image =
        SmallImage.create()
            .with("bash", "cat", "ls", "rm", "mkdir", "id", "stat", "tar", "chown", "chmod", "diff")
            .with("dpkg", "dpkg-deb", "dpkg-split", "dpkg-query", "ldconfig", "start-stop-daemon")
            .withShell();
    for (String made : List.of("info", "updates", "triggers", "alternatives", "parts")) {
      Files.createDirectories(image.root().resolve("var/lib/dpkg").resolve(made));
    }
    Files.createDirectories(image.root().resolve("var/log"));
    Files.createFile(image.root().resolve("var/lib/dpkg/status"));
    Files.writeString(image.root().resolve("etc/passwd"), "root:x:0:0::/root:/bin/sh\n");
    Files.writeString(image.root().resolve("etc/group"), "root:x:0:\n");
    deb = buildPackage(folder);
  }

  @AfterAll
  static void removeImage() {
    image.delete();
  }

  @BeforeEach
  void open() throws IOException {
    fixture = on("native");
  }

  private static ControlFixture on(String engine) throws IOException {
    return new ControlFixture(
        engine,
        settings ->
            settings.withSandboxes(settings.sandboxes().withImages(Map.of("small", image.root()))));
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"native", "runc", "runsc"})
  void installedPackageIsThereAfterAStopInAForkAndInASnapshotAndNowhereElse(String engine)
      throws Exception {
    fixture.close();
    fixture = on(engine);
    Sandbox sandbox = create(overlay(null));
    Snapshot before = snapshots().create(ALICE, sandbox.id(), "before");
    install(sandbox);
    Snapshot after = snapshots().create(ALICE, sandbox.id(), "after");
    Sandbox fork = snapshots().fork(ALICE, sandbox.id());
    sandboxes().stop(ALICE, sandbox.id());
    sandboxes().start(ALICE, sandbox.id());

    String greet = "greet; stat -c '%u:%g %a' /usr/bin/greet /var/lib/greet; id -u";
    String greeting = "hello from postinst\n0:0 755\n7:9 750\n0\n";
    assertThat(run(sandbox, greet)).isEqualTo(greeting);
    assertThat(fork.rootfs()).isEqualTo(Rootfs.OVERLAY);
    assertThat(run(fork, greet)).isEqualTo(greeting);
    Sandbox begun = create(CreateSandbox.defaults().withStorage(from(after.id())));
    assertThat(begun.image()).as("the image that the changes are of").isEqualTo("small");
    assertThat(begun.rootfs()).isEqualTo(Rootfs.OVERLAY);
    assertThat(run(begun, greet)).isEqualTo(greeting);
    snapshots().restore(ALICE, sandbox.id(), before.id());
    assertThat(run(sandbox, "greet")).contains("not found");
    assertThat(run(create(overlay(null)), "greet; ls /var/lib/greet")).contains("not found");
    assertThat(run(fork, "dpkg -r greet > /dev/null; greet")).contains("not found");
  }

  @Test
  void interpretersAndFilesAreRootsToo() throws Exception {
    Sandbox sandbox = create(overlay(null));

    CodeResult result =
        fixture
            .control()
            .contexts()
            .execute(
                ALICE,
                sandbox.id(),
                new ExecuteCode("echo in > /srv-file; id -u", Language.BASH, null, null));
    assertThat(result.stdout().text()).isEqualTo("0\n");
    byte[] text = "written over\n".getBytes(StandardCharsets.UTF_8);
    fixture
        .control()
        .files()
        .write(ALICE, sandbox.id(), "/etc/motd", new ByteArrayInputStream(text), WriteFile.plain());
    assertThat(run(sandbox, "cat /srv-file /etc/motd")).isEqualTo("in\nwritten over\n");
  }

  @Test
  void whatCannotBeIsRefusedBeforeAnythingIsMade() {
    assertCode(ErrorCode.INVALID_INPUT, () -> create(overlay(null).withImage("host")));
    assertCode(
        ErrorCode.INVALID_INPUT, () -> new CreateSandbox.Storage(true, null, null, Rootfs.OVERLAY));
    assertCode(
        ErrorCode.INVALID_INPUT,
        () -> new CreateSandbox.Storage(null, "shared", null, Rootfs.OVERLAY));
    Sandbox plain = create(CreateSandbox.defaults().withImage("small"));
    Snapshot snapshot = snapshots().create(ALICE, plain.id(), null);
    assertCode(ErrorCode.INVALID_INPUT, () -> create(overlay(snapshot.id())));
    assertThat(sandboxes().list(ALICE, SandboxQuery.all()).items()).hasSize(1);
  }

  @Test
  void engineWithoutItSaysSo() throws IOException {
    try (ControlFixture other = on("process")) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> other.control().sandboxes().create(ALICE, overlay(null)))
          .withMessageContaining("engine 'process' has read-only roots only")
          .matches(e -> e.code() == ErrorCode.NOT_SUPPORTED);
    }
  }

  private void install(Sandbox sandbox) throws Exception {
    byte[] bytes = Files.readAllBytes(deb);
    fixture
        .control()
        .files()
        .write(
            ALICE,
            sandbox.id(),
            "/workspace/greet.deb",
            new ByteArrayInputStream(bytes),
            WriteFile.plain());
    assertThat(run(sandbox, "dpkg -i /workspace/greet.deb")).contains("Setting up greet (1.0)");
  }

  /** A program, a folder of other ids, and a script that runs when it is installed. */
  private static Path buildPackage(Path folder) throws Exception {
    Path tree = Files.createDirectories(folder.resolve("greet"));
    Files.createDirectories(tree.resolve("DEBIAN"));
    Files.createDirectories(tree.resolve("usr/bin"));
    Files.createDirectories(tree.resolve("var/lib/greet"));
    Files.writeString(
        tree.resolve("DEBIAN/control"),
        """
        Package: greet
        Version: 1.0
        Architecture: all
        Maintainer: nobody <nobody@localhost>
        Description: says hello
        """);
    Files.writeString(
        tree.resolve("DEBIAN/postinst"),
        """
        #!/bin/sh
        set -e
        echo hello from postinst > /etc/greeting
        chown 7:9 /var/lib/greet
        chmod 750 /var/lib/greet
        """);
    Files.writeString(tree.resolve("usr/bin/greet"), "#!/bin/sh\ncat /etc/greeting\n");
    tree.resolve("DEBIAN/postinst").toFile().setExecutable(true, false);
    tree.resolve("usr/bin/greet").toFile().setExecutable(true, false);
    Path made = folder.resolve("greet.deb");
    Process build =
        new ProcessBuilder(
                "dpkg-deb", "--root-owner-group", "-Znone", "-b", tree.toString(), made.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    assertThat(build.waitFor()).isZero();
    return made;
  }

  private static CreateSandbox overlay(@Nullable SnapshotId snapshot) {
    return CreateSandbox.defaults()
        .withImage("small")
        .withStorage(new CreateSandbox.Storage(null, null, snapshot, Rootfs.OVERLAY));
  }

  private static CreateSandbox.Storage from(SnapshotId snapshot) {
    return new CreateSandbox.Storage(null, null, snapshot);
  }

  private Sandbox create(CreateSandbox request) {
    return sandboxes().create(ALICE, request);
  }

  private String run(Sandbox sandbox, String line) throws Exception {
    var command =
        new Command(
            List.of("sh", "-c", "exec 2>&1; " + line),
            Map.of(),
            null,
            null,
            Duration.ofSeconds(60),
            false);
    ExecResult result = fixture.control().execs().run(ALICE, sandbox.id(), ExecStart.of(command));
    return result.stdout().text();
  }

  private Sandboxes sandboxes() {
    return fixture.control().sandboxes();
  }

  private Snapshots snapshots() {
    return sandboxes().snapshots();
  }

  private static void assertCode(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == code, code.name());
  }
}
