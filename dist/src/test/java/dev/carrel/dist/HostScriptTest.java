package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shell behind {@code ./carrel}. */
class HostScriptTest {
  private static final Path ROOT =
      Path.of(System.getProperty("carrel.root", "..")).toAbsolutePath();

  @TempDir private Path folder;

  private record Ended(int code, String output) {}

  @Test
  void withoutLeaveToInstallItNamesWhatIsMissingAndStops() throws Exception {
    Ended ended =
        bash(
            "CARREL_NO_INSTALL=1; need_packages 'to build' present:sh absent-package:no-such-program"
                + " 'other:!false'; echo went on");

    assertThat(ended.code()).isEqualTo(125);
    assertThat(ended.output())
        .contains("needed to build", "apt-get install absent-package other")
        .doesNotContain("went on", "present");
  }

  @Test
  void nothingIsSaidWhenNothingIsMissing() throws Exception {
    assertThat(bash("need_packages 'to build' present:sh")).isEqualTo(new Ended(0, ""));
  }

  @Test
  void theVersionOfAJdkIsReadFromItsReleaseFile() throws Exception {
    Files.writeString(folder.resolve("release"), "JAVA_VERSION=\"17.0.2\"\n");

    assertThat(bash("jdk_major " + folder).output()).isEqualTo("17\n");
    assertThat(bash("jdk_major " + folder.resolve("absent")).output()).isEqualTo("0\n");
  }

  @Test
  void aJdkThatIsTooOldIsPassedOver() throws Exception {
    Files.writeString(folder.resolve("release"), "JAVA_VERSION=\"17.0.2\"\n");
    Path javac = Files.createDirectories(folder.resolve("bin")).resolve("javac");
    Files.writeString(javac, "");
    assertThat(javac.toFile().setExecutable(true)).isTrue();

    // Wherever the search ends, it is not there.
    assertThat(bash("JAVA_HOME=" + folder + "; find_jdk; echo $JAVA_HOME").output())
        .doesNotContain(folder.toString());
  }

  @Test
  void aFailedStepShowsItsLogAndItsStatus() throws Exception {
    Path log = folder.resolve("log");

    Ended ended =
        bash(
            "with_progress trying "
                + log
                + " sh -c 'echo error: the reason; exit 3'; echo went on");

    assertThat(ended.code()).isEqualTo(125);
    assertThat(ended.output())
        .contains("error: the reason", "trying failed with status 3", log.toString())
        .doesNotContain("went on");
  }

  @Test
  void theTestsAreExplainedToWhoAsks() throws Exception {
    Ended help = bash(". $root/build/test.sh; run_tests --help");

    assertThat(help.code()).isZero();
    assertThat(help.output()).contains("./carrel test [--engines]");
    assertThat(bash(". $root/build/test.sh; run_tests --nonsense").code()).isEqualTo(2);
  }

  @Test
  void everyModuleOfTheDistributionIsLookedAtForChanges() throws Exception {
    List<String> looked =
        Files.readString(ROOT.resolve("carrel"))
            .lines()
            .filter(line -> line.strip().startsWith("find pom.xml "))
            .flatMap(line -> Stream.of(line.strip().split(" ", -1)))
            .toList();
    List<String> modules =
        Pattern.compile("<module>(.+)</module>")
            .matcher(Files.readString(ROOT.resolve("pom.xml")))
            .results()
            .map(module -> module.group(1))
            // Tests of the distribution, which are no part of it.
            .filter(module -> !module.equals("e2e"))
            .toList();

    assertThat(modules)
        .isNotEmpty()
        .allMatch(
            module ->
                looked.stream()
                    .anyMatch(one -> module.equals(one) || module.startsWith(one + "/")));
  }

  private static Ended bash(String script) throws IOException, InterruptedException {
    Process bash =
        new ProcessBuilder(
                "bash",
                "-euo",
                "pipefail",
                "-c",
                "root=" + ROOT + "; . $root/build/host.sh; " + script)
            .redirectErrorStream(true)
            .start();
    String output = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(bash.waitFor(60, TimeUnit.SECONDS)).isTrue();
    return new Ended(bash.exitValue(), output);
  }
}
