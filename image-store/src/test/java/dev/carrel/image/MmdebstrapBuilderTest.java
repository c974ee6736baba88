package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.SandboxException;
import java.io.IOException;
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
  private final Listener said = new Listener();

  @Test
  void aBuildEndsWithWhoWaitsForIt() throws Exception {
    // Says who it is and whom it started, and then nothing until long after everybody has gone.
    Thread worker = start("cat > /dev/null; sleep 1000 & echo $$ $! >&2; exec sleep 1000");
    String[] pids = firstLine().split(" ", -1);
    worker.interrupt();

    assertThat(worker.join(Duration.ofSeconds(10))).isTrue();
    for (String pid : pids) {
      while (ProcessHandle.of(Long.parseLong(pid)).filter(ProcessHandle::isAlive).isPresent()) {
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  @Test
  void aSignalToItsOwnGroupIsNoneToTheServer() throws Exception {
    Thread worker = start("cat > /dev/null; echo $(cut -d ' ' -f 1,5,6 /proc/$$/stat) >&2; exit 1");
    String[] ids = firstLine().split(" ", -1);

    assertThat(worker.join(Duration.ofSeconds(10))).isTrue();
    assertThat(ids[1]).as("its process group").isEqualTo(ids[0]);
    assertThat(ids[2]).as("its session").isEqualTo(ids[0]);
  }

  @Test
  void oneThatWritesOnWhenNobodyReadsIsEnded() throws Exception {
    // No tar, and more than a pipe holds; a signal to end is not heard.
    Path program = program("trap '' TERM; cat > /dev/null; echo E: words >&2; exec yes");

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> new MmdebstrapBuilder(program).make(job()))
        .withMessageContaining("words");
  }

  private Thread start(String script) throws IOException {
    Path program = program(script);
    return Thread.startVirtualThread(
        () -> {
          try {
            new MmdebstrapBuilder(program).make(job());
          } catch (Exception e) {
            said.step(e.toString());
          }
        });
  }

  private Path program(String script) throws IOException {
    Path program = folder.resolve("mmdebstrap");
    Files.writeString(program, "#!/bin/sh\n" + script + "\n");
    return Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private RootBuilder.Job job() throws IOException {
    var layers = new Layers(folder, folder, ImageLimits.defaults(), Disk.HOST);
    return new RootBuilder.Job(TINY, BuildOrder.NEWEST, 0, layers, folder, said);
  }

  private String firstLine() {
    while (said.lines().isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
    return said.lines().getFirst().strip();
  }
}
