package dev.carrel.engine.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runtimes that leave out one thing of what they were told: the start has to see it and end. Who
 * starts them changes their orders first.
 */
final class CarelessRuntimeIT {
  private static final MachineSpec SPEC =
      new MachineSpec(
          new RootImage.Host(),
          new Limits(DataSize.ofMebibytes(128), 0.5, 64, DataSize.ofMebibytes(16), 256),
          null,
          null);

  private Path folder;

  @BeforeEach
  void makeFolder() throws IOException {
    folder = Files.createTempDirectory("carrel-");
  }

  @AfterEach
  void leaveNothing() {
    Leftovers.delete(folder);
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "masked-proc, s/\"maskedPaths\":[^]]*]/\"maskedPaths\":[]/",
        "masked-proc, s/\"maskedPaths\":.*interrupts/&-not/",
        "masked-proc, s/\"readonlyPaths\":[^]]*]/\"readonlyPaths\":[]/",
        "cpu-limit, s/\"quota\":[0-9]*/&0/",
        "pids-limit, s/\"pids\":{\"limit\":[0-9]*/&0/"
      })
  void isNotBelieved(String measure, String change) throws IOException {
    for (OciRuntime runtime : Set.of(OciRuntime.RUNC, OciRuntime.CRUN)) {
      SandboxId id = SandboxId.random();
      try (OciEngine engine = engine(runtime, change)) {
        assertThatExceptionOfType(SandboxException.class)
            .as("%s with %s", runtime, change)
            .isThrownBy(() -> engine.start(id, SPEC).destroy())
            .withMessageContaining(measure)
            .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ISOLATION_NOT_AVAILABLE));
      }
      assertThat(Leftovers.of(id.value(), folder.resolve("run"))).isEmpty();
    }
  }

  /** The report is a file that the machine itself wrote. */
  @Test
  void whatAGuestSaysThatConfinesNothingIsNotBelieved() throws IOException {
    SandboxId id = SandboxId.random();
    String claims = "+seccomp x\\n+no-new-privileges x\\n+no-capabilities x\\n+landlock x\\n";
    try (OciEngine engine =
        engine(
            OciRuntime.RUNC,
            "s/,\"--confine\",\"[^\"]*\"//",
            "printf '" + claims + "' > \"$6/guest/report\"")) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> engine.start(id, SPEC).destroy())
          .withMessageContaining("not so from outside, though it is told")
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ISOLATION_NOT_AVAILABLE));
    }
    assertThat(Leftovers.of(id.value(), folder.resolve("run"))).isEmpty();
  }

  @Test
  void oneThatIsNotCarelessIs() throws IOException {
    try (OciEngine engine = engine(OciRuntime.RUNC, "s/x/x/")) {
      Machine machine = engine.start(SandboxId.random(), SPEC);
      machine.destroy();
    }
  }

  private OciEngine engine(OciRuntime runtime, String change) throws IOException {
    return engine(runtime, change, ":");
  }

  private OciEngine engine(OciRuntime runtime, String change, String deed) throws IOException {
    Path lib = Files.createDirectories(folder.resolve("lib"));
    Path real = lib.resolve("real");
    if (Files.notExists(real)) {
      Files.copy(Path.of(System.getProperty("carrel.lib"), "guest"), real);
    }
    String script =
        """
        #!/bin/sh
        [ "$1 $2" != "oci run" ] || { sed -i '%s' "$6/config.json" && %s; } || exit 1
        exec "${0%%/*}/real" "$@"
        """
            .formatted(change, deed);
    Path guest = Files.writeString(lib.resolve("guest"), script);
    for (Path program : Set.of(real, guest)) {
      assertThat(program.toFile().setExecutable(true, false)).isTrue();
    }
    return new OciEngine(
        runtime,
        new EngineSettings(
            folder.resolve("run"),
            folder.resolve("volumes"),
            lib,
            Set.of(),
            WarmSettings.defaults(),
            DaemonSettings.usual()));
  }
}
