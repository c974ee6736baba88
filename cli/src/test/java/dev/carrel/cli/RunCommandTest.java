package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RunCommandTest {
  @ParameterizedTest
  @ValueSource(strings = {".", "", "..", "out", "out/../out", "/tmp/out"})
  void resultsStayInTheFolderThatIsNamed(String name) {
    Path folder = Path.of(name);
    assertThat(RunCommand.inside(folder, "a/../b/c")).isEqualTo(folder.resolve("b/c"));
    for (String out : new String[] {"../c", "a/../../c", "/etc/c"}) {
      assertThatExceptionOfType(CommandFailure.class)
          .isThrownBy(() -> RunCommand.inside(folder, out));
    }
  }
}
