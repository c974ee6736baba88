package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The script that starts everything, in surroundings that are not the usual ones. */
@Timeout(120)
class LauncherIT {
  @TempDir private Path folder;

  @Test
  void anOldJavaIsPassedOver() throws Exception {
    Path old = jdk("old", "17.0.9");
    Path found = Files.createDirectories(folder.resolve("sdkman/candidates/java"));
    Files.createSymbolicLink(found.resolve("25"), Path.of(System.getProperty("java.home")));

    for (String home : List.of("", old.toString())) {
      Distribution.Ended ended =
          new Distribution(folder)
              .run(
                  List.of(
                      "env",
                      "JAVA_HOME=" + home,
                      "PATH=" + old.resolve("bin") + ":/usr/bin:/bin",
                      "SDKMAN_DIR=" + folder.resolve("sdkman"),
                      Distribution.program(),
                      "version"));

      assertThat(ended.err()).isEmpty();
      assertThat(ended.out()).startsWith("carrel ");
      assertThat(ended.code()).isZero();
    }
  }

  @Test
  void aClosedInputIsAnEmptyOne() throws Exception {
    Distribution.Ended ended =
        new Distribution(folder)
            .run(
                List.of(
                    "sh", "-c", "exec \"$0\" run -l bash -c 'wc -c' <&-", Distribution.program()));

    assertThat(ended.err()).isEmpty();
    assertThat(ended.out().strip()).isEqualTo("0");
    assertThat(ended.code()).isZero();
  }

  @Test
  void aClosedOutputIsOneThatCannotBeWritten() throws Exception {
    var distribution = new Distribution(folder);

    assertThat(
            distribution
                .run(List.of("sh", "-c", "exec \"$0\" version >&-", Distribution.program()))
                .code())
        .isEqualTo(141);
    assertThat(
            distribution
                .run(List.of("sh", "-c", "exec \"$0\" version 2>&-", Distribution.program()))
                .code())
        .isZero();
  }

  private Path jdk(String name, String version) throws IOException {
    Path home = folder.resolve(name);
    Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
    Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
    Files.writeString(java, "#!/bin/sh\necho an old Java was started >&2\nexit 1\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    return home;
  }
}
