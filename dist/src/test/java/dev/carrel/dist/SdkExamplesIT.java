package dev.carrel.dist;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.cli.ServedServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the Java SDK's README and examples show, run as users run it. */
@Timeout(180)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SdkExamplesIT {
  private static final Path SDK =
      Path.of(System.getProperty("carrel.root", "..")).resolve("sdks/java");
  private static final Pattern SHOWN = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
  private static final Pattern EXPECTED =
      Pattern.compile("IO\\.println\\(.*// (.*)$", Pattern.MULTILINE);

  private ServedServer server;
  private Path folder;

  @BeforeAll
  void serve(@TempDir Path place) throws IOException {
    folder = place;
    server = new Desk(place).serve();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @Test
  void whatTheReadmeShowsRuns() throws Exception {
    List<String> programs =
        SHOWN
            .matcher(Files.readString(SDK.resolve("README.md")))
            .results()
            .map(m -> m.group(1))
            .toList();
    assertThat(programs).hasSizeGreaterThanOrEqualTo(3);
    for (String program : programs) {
      Path file = Files.writeString(folder.resolve("Shown.java"), program);
      List<String> expected =
          EXPECTED.matcher(program).results().map((MatchResult m) -> m.group(1)).toList();
      assertThat(run(file)).contains(expected);
    }
  }

  @Test
  void theExamplesRun() throws Exception {
    assertThat(run(SDK.resolve("examples/Hello.java"))).isEqualTo("Linux\n6\n");
    assertThat(run(SDK.resolve("examples/Many.java")))
        .isEqualTo("5! = 120\n10! = 3628800\n15! = 1307674368000\n");
    assertThat(run(SDK.resolve("examples/Resume.java"))).isEqualTo("step 1\nstep 2\nstep 3\n");
  }

  private String run(Path program) throws IOException, InterruptedException {
    var builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin/java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            program.toString());
    builder.environment().put("CARREL_URL", server.endpoint().address().toString());
    builder.environment().put("CARREL_TOKEN", server.endpoint().token());
    Path errors = folder.resolve("errors");
    Process process = builder.redirectError(errors.toFile()).start();
    try {
      String said = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).as(Files.readString(errors)).isZero();
      return said;
    } finally {
      process.destroyForcibly();
    }
  }
}
