package dev.carrel.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A group that can no longer be written to, as one that the kernel is about to remove. */
class ControlGroupTest {
  @TempDir Path folder;

  private ControlGroup group;
  private Path freezer;

  @BeforeEach
  void makeUnwritable() throws IOException {
    group = new ControlGroup(Map.of(), folder);
    freezer = Files.createDirectory(folder.resolve("cgroup.freeze"));
  }

  @Test
  void groupThatGoesWhileItsRemainsAreThawedIsNoFailure() throws Exception {
    Thread goes =
        Thread.startVirtualThread(
            () -> {
              LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
              assertThat(freezer.toFile().delete()).isTrue();
            });

    group.thawRemains();

    goes.join();
    assertThat(group.freezes()).isFalse();
  }

  @Test
  void groupThatStaysAndDoesNotThawIsOne() {
    assertThatThrownBy(group::thawRemains).isInstanceOf(IOException.class);
  }

  @Test
  void groupThatIsGoneHasNothingToThaw() throws IOException {
    Files.delete(freezer);

    group.thawRemains();
  }
}
