package dev.carrel.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.DataSize;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ControlSettingsTest {
  private final ControlSettings settings =
      ControlSettings.defaults(Path.of("data"), Path.of("lib"));

  @Test
  void sandboxesHaveTheDefaultsOfTheContract() {
    var sandboxes = settings.sandboxes();
    assertThat(sandboxes.memoryMb()).isEqualTo(512);
    assertThat(sandboxes.cpuCores()).isEqualTo(1);
    assertThat(sandboxes.diskMb()).isEqualTo(1024);
    assertThat(sandboxes.pids()).isEqualTo(512);
    assertThat(sandboxes.idleTimeout()).isEqualTo(Duration.ofMinutes(30));
    assertThat(sandboxes.defaultImage()).isEqualTo("host");
    assertThat(sandboxes.defaultEngine()).isEqualTo("auto");
    assertThat(sandboxes.allowedEngines())
        .containsExactlyInAnyOrder("native", "crun", "runc", "runsc", "docker", "docker-runsc");
  }

  @Test
  void outputIsCutWhereTheContractCutsIt() {
    assertThat(settings.execs().stdoutChars()).isEqualTo(50_000);
    assertThat(settings.execs().stderrChars()).isEqualTo(120_000);
    assertThat(settings.contexts().stdoutChars()).isEqualTo(50_000);
    assertThat(settings.contexts().stderrChars()).isEqualTo(120_000);
    assertThat(settings.contexts().resultChars()).isEqualTo(30_000);
    assertThat(settings.contexts().tracebackChars()).isEqualTo(8_000);
    assertThat(settings.execs().spill()).isEqualTo(DataSize.ofMebibytes(64));
  }

  @Test
  void timesAreThoseOfTheContract() {
    assertThat(settings.execs().defaultTimeout()).isEqualTo(Duration.ofMinutes(2));
    assertThat(settings.contexts().defaultTimeout()).isEqualTo(Duration.ofSeconds(30));
    assertThat(settings.contexts().interruptGrace()).isEqualTo(Duration.ofSeconds(2));
  }
}
