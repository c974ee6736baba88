package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Cleaning up, also after a test that had not begun. */
class LeftoversTest {
  @TempDir private Path temporary;

  @Test
  void onlyWhatATestHasMadeIsRemoved() throws Exception {
    Path made = Files.createDirectories(temporary.resolve("made/below"));
    Files.createFile(made.resolve("file"));

    Leftovers.delete(temporary.resolve("made"));

    assertThat(temporary).isEmptyDirectory();
    // Never there, so that the worst that can come of it is another exception.
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Leftovers.delete(Path.of("carrel-was-never-made")));
  }
}
