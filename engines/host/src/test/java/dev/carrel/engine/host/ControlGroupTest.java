package dev.carrel.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Groups that are folders; most can no longer be written to, as when the kernel removes them. */
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

  /** Of version 1, which does not count them before. */
  @Test
  void buffersOfSocketsHaveTheLimitOfMemory() throws IOException {
    Path files = Files.createDirectory(folder.resolve("first"));
    Path buffers = files.resolve("memory.kmem.tcp.limit_in_bytes");
    for (String name : List.of("memory.limit_in_bytes", "pids.max", "cpu.cfs_quota_us")) {
      Files.createFile(files.resolve(name));
    }
    Files.createFile(buffers);
    Files.writeString(files.resolve("pids.current"), "1\n");
    var first = new ControlGroup(Map.of("memory", files, "pids", files, "cpu", files), null);

    first.limitBuffers(1 << 20);
    assertThat(buffers).hasContent("1048576");
    first.change(limits(64), limits(32));
    assertThat(buffers).hasContent(Long.toString(32 << 20));
  }

  @Test
  void whereTheyAreCountedAnywayThereIsNothingToLimit() throws IOException {
    group.limitBuffers(1 << 20);

    assertThat(folder.resolve("memory.kmem.tcp.limit_in_bytes")).doesNotExist();
  }

  private static Limits limits(int mebibytes) {
    return new Limits(DataSize.ofMebibytes(mebibytes), 1, 64, DataSize.ofMebibytes(32), 512);
  }
}
