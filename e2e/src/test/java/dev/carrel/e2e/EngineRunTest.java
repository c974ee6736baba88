package dev.carrel.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class EngineRunTest {
  @Test
  void everySuiteIsInTheMatrixOrSaysWhyNot() throws IOException {
    Path here = Path.of(System.getProperty("carrel.root", ""), "e2e/src/test/java/dev/carrel/e2e");
    try (Stream<Path> sources = Files.walk(here)) {
      assertThat(
              sources
                  .filter(path -> path.toString().endsWith("IT.java"))
                  .map(path -> here.relativize(path).toString())
                  .map(name -> name.replace(".java", "").replace('/', '.')))
          .containsExactlyInAnyOrderElementsOf(EngineRun.known());
    }
  }
}
