package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ending what is in groups of which some go while one looks. */
class ProcessGroupsTest {
  @TempDir private Path parent;

  @Test
  void groupsThatGoMeanwhileKeepNobodyElseAlive() throws Exception {
    Process sleeper = new ProcessBuilder("sleep", "600").start();
    try {
      Files.writeString(parent.resolve("cgroup.procs"), "");
      // Seen when the folder was listed and gone when it is read.
      Path going = Files.createDirectory(parent.resolve("a-going"));
      Files.createSymbolicLink(going.resolve("cgroup.procs"), parent.resolve("gone"));
      Files.createSymbolicLink(going.resolve("freezer.state"), parent.resolve("gone"));
      Files.createDirectory(parent.resolve("b-half-gone"));
      Path living = Files.createDirectories(parent.resolve("c/living"));
      Files.writeString(living.resolve("cgroup.procs"), sleeper.pid() + "\n");
      Files.writeString(living.resolve("freezer.state"), "FROZEN");

      ProcessGroups.kill(parent, 3);

      assertThat(sleeper.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(living.resolve("freezer.state")).hasContent("THAWED");
      assertThat(parent.resolve("gone")).as("nothing is made where a group was").doesNotExist();
      ProcessGroups.kill(parent.resolve("never-there"), 3);
    } finally {
      sleeper.destroyForcibly();
    }
  }

  @Test
  void whatIsThereAndCannotBeReadIsAnError() throws Exception {
    Files.createDirectory(parent.resolve("cgroup.procs"));

    assertThatExceptionOfType(IOException.class).isThrownBy(() -> ProcessGroups.kill(parent, 1));
  }
}
