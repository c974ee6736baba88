package dev.carrel.engine.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Limits;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is found in the run directory, without any runtime. */
@Timeout(60)
final class OciRecoveryTest {
  private static final String LIMITS =
      "memory=268435456\ncpus=1\npids=64\ndisk=268435456\nopen-files=256\n";

  private static final MachineSpec SPEC =
      new MachineSpec(
          new RootImage.Host(),
          new Limits(DataSize.ofMebibytes(256), 1, 64, DataSize.ofMebibytes(64), 256),
          null,
          null);

  @TempDir private Path temporary;

  @Test
  void statesThatCannotBeReadAreSweptAndKeepNobodyFromStarting() throws IOException {
    Path empty = folder(SandboxId.random(), "");
    Path broken = folder(SandboxId.random(), "memory=1\ncpus=\n");

    assertThat(engine().recover()).isEmpty();
    assertThat(empty).doesNotExist();
    assertThat(broken).doesNotExist();
  }

  @Test
  void aProcessThatOnlyNamesTheSandboxIsNobodysConcern() throws Exception {
    SandboxId id = SandboxId.random();
    Path folder = folder(id, LIMITS);
    Process stranger =
        new ProcessBuilder("sh", "-c", "read line", "guest", "--id", id.value()).start();
    try {
      assertThat(engine().recover()).isEmpty();
      assertThat(folder).doesNotExist();
      assertThat(stranger.isAlive()).isTrue();
    } finally {
      stranger.destroyForcibly().waitFor();
    }
  }

  @Test
  void aStateThatCannotBeReadAtTheMomentIsNoReasonToEndItsMachine() throws IOException {
    Path folder = Files.createDirectory(temporary.resolve(SandboxId.random().value()));
    // Reading it is an error of input and output.
    Files.createSymbolicLink(folder.resolve("runc.properties"), Path.of("/proc/self/mem"));

    assertThat(engine().recover()).isEmpty();
    assertThat(folder).exists();
  }

  @Test
  void foldersOfThisEngineWhoseMakingBrokeOffAreRemoved() throws IOException {
    String id = SandboxId.random().value();
    Path ours = Files.createDirectory(temporary.resolve("runc." + id));
    Files.writeString(ours.resolve("state.new"), "memory=");
    Path another = Files.createDirectory(temporary.resolve("crun." + id));
    Path nobodys = Files.createDirectory(temporary.resolve("runc.d"));

    assertThat(engine().recover()).isEmpty();
    assertThat(ours).doesNotExist();
    assertThat(another).exists();
    assertThat(nobodys).exists();
  }

  @Test
  void aFolderThatCameToNothingIsRemoved() throws IOException {
    SandboxId id = SandboxId.random();
    MachineFolder folder = MachineFolder.in(OciRuntime.RUNC, temporary, id);
    Files.createDirectory(folder.path());

    new Remains(new Companion(OciRuntime.RUNC, temporary, temporary, temporary)).sweep(folder);

    assertThat(folder.path()).doesNotExist();
  }

  @Test
  void whatAFailedStartCouldNotCleanUpIsNotInTheWayOfTheNext() throws IOException {
    SandboxId id = SandboxId.random();
    Path folder = temporary.resolve(id.value());
    Path heldByTheRuntime = Files.createDirectories(temporary.resolve("runc").resolve(id.value()));
    OciEngine engine = engine();

    // There is no guest to be started, nor to let the runtime delete anything.
    assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> engine.start(id, SPEC));
    assertThat(folder).exists();
    Files.delete(heldByTheRuntime);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine.start(id, SPEC))
        .withMessageNotContaining("cannot make");
    assertThat(folder).doesNotExist();
  }

  private Path folder(SandboxId id, String state) throws IOException {
    Path folder = Files.createDirectory(temporary.resolve(id.value()));
    Files.writeString(folder.resolve("runc.properties"), state);
    return folder;
  }

  private OciEngine engine() {
    return new OciEngine(
        OciRuntime.RUNC, new EngineSettings(temporary, temporary, temporary, Set.of()));
  }
}
