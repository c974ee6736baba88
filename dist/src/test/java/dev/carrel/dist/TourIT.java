package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.dist.Distribution.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The README's tour does what it says. */
@Timeout(300)
class TourIT {
  private static final Path ROOT = Path.of(System.getProperty("carrel.root", ".."));
  private static final Pattern SHELL = Pattern.compile("```sh\n(.*?)```", Pattern.DOTALL);

  @TempDir private Path folder;

  @Test
  void everyCommandOfTheTourRuns() throws Exception {
    Matcher block = SHELL.matcher(Files.readString(ROOT.resolve("README.md")));
    assertThat(block.find()).isTrue();
    // Whether the host isolates is not this test's matter.
    String tour =
        block
            .group(1)
            .replace("./carrel doctor", "./carrel doctor || true")
            .replace("/tmp/", folder + "/")
            .replace("./carrel", Distribution.program());

    Ended ended = new Distribution(folder).run(List.of("bash", "-euo", "pipefail", "-c", tour));

    assertThat(ended.code()).as(ended.out() + ended.err()).isZero();
    assertThat(ended.out())
        .contains("42\n", "8\n", "shell too: 42", "HELLO\n", "exit code 3", "name,score");
  }
}
