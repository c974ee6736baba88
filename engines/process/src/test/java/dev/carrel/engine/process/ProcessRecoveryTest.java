package dev.carrel.engine.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.SandboxId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class ProcessRecoveryTest {
  @TempDir private Path temporary;

  @Test
  void aProcessThatOnlyNamesTheSocketIsNobodysConcern() throws Exception {
    MachineFolder folder = MachineFolder.in(temporary, SandboxId.random());
    Files.createDirectory(folder.path());
    Files.writeString(folder.path().resolve("process.properties"), "");
    String socket = folder.socket().toString();
    Process stranger = new ProcessBuilder("sh", "-c", "read line", "rm", socket).start();
    try {
      var settings = new EngineSettings(temporary, temporary, temporary, Set.of());

      assertThat(new ProcessEngine(settings).recover()).isEmpty();
      assertThat(folder.path()).doesNotExist();
      assertThat(stranger.isAlive()).isTrue();
    } finally {
      stranger.destroyForcibly().waitFor();
    }
  }
}
