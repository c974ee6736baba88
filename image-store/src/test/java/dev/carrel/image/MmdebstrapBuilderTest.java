package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MmdebstrapBuilderTest {
  private static final Recipe TINY = new Recipe("tiny", "for this test", List.of(), null);

  @TempDir private Path folder;

  @Test
  void aBuildEndsWithWhoWaitsForIt() throws Exception {
    Path program = folder.resolve("mmdebstrap");
    // Says its number, and then nothing until long after everybody has gone.
    Files.writeString(program, "#!/bin/sh\ncat > /dev/null\necho $$ >&2\nexec sleep 1000\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    var layers = new Layers(folder, folder, ImageLimits.defaults(), Disk.HOST);
    var said = new Listener();
    var job = new RootBuilder.Job(TINY, BuildOrder.NEWEST, 0, layers, folder, said);
    Thread worker =
        Thread.startVirtualThread(
            () -> {
              try {
                new MmdebstrapBuilder(program).make(job);
              } catch (Exception e) {
                said.step(e.toString());
              }
            });
    while (said.lines().isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
    long pid = Long.parseLong(said.lines().getFirst().strip());
    worker.interrupt();

    assertThat(worker.join(Duration.ofSeconds(10))).isTrue();
    assertThat(ProcessHandle.of(pid).filter(ProcessHandle::isAlive)).isEmpty();
  }
}
