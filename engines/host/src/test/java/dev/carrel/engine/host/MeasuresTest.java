package dev.carrel.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Isolation.Measure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class MeasuresTest {
  @Test
  void theGuestAndTheEnginesHaveTheSameNames() throws IOException {
    String source = Files.readString(Path.of("../../guest/src/measure.c"));

    assertThat(Measures.none("why").measures())
        .extracting(Measure::name)
        .containsExactlyElementsOf(
            Pattern.compile("\\[MEASURE_[A-Z_]+] = \"([a-z-]+)\"")
                .matcher(source)
                .results()
                .map(found -> found.group(1))
                .toList());
  }
}
