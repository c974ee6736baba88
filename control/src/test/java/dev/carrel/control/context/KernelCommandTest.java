package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Language;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class KernelCommandTest {
  @ParameterizedTest
  @EnumSource
  void isWhatTheKernelsSayOfThemselves(Language language) throws IOException {
    Path readme = Path.of(System.getProperty("carrel.root"), "kernels", "README.md");
    String line = String.join(" ", KernelCommand.of(language, "KERNELS").arguments());

    assertThat(Files.readString(readme))
        .contains("| " + language.wireName() + " | `" + line + "` |");
  }
}
