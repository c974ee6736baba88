package dev.carrel.control.store;

import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jdbi.v3.core.Handle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store on a disk that has no room left. */
final class FullDiskIT {
  @TempDir private Path folder;

  @BeforeAll
  static void needsRoot() {
    assumeTrue("root".equals(System.getProperty("user.name")), "only root may mount a small disk");
  }

  @BeforeEach
  void mountSmallDisk() throws Exception {
    run("mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "carrel-store", folder.toString());
  }

  @AfterEach
  void unmount() throws Exception {
    run("umount", folder.toString());
  }

  @Test
  void theLastBookkeepingOfAServerIsWrittenAndTheNextOneStarts() throws Exception {
    Path file = folder.resolve("x.db");
    try (Database database = Database.open(file)) {
      database.write(handle -> handle.execute("CREATE TABLE t (data BLOB)"));
      eventually(() -> Files.exists(folder.resolve("reserve/room-15")));
      fill();
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> database.write(FullDiskIT::insert))
          .matches(e -> e.code() == ErrorCode.NO_SPACE);
      assertThat(folder.resolve("reserve/room-15")).exists();

      database.later(FullDiskIT::insert);
    }
    // Somebody else fills it all the time.
    fill();
    try (Database database = Database.open(file)) {
      int rows =
          database.read(
              handle -> handle.createQuery("SELECT COUNT(*) FROM t").mapTo(Integer.class).one());
      assertThat(rows).isEqualTo(1);
    }
  }

  /** More than the store has on the disk already. */
  private static int insert(Handle handle) {
    return handle.execute("INSERT INTO t VALUES (randomblob(300000))");
  }

  private void fill() throws IOException {
    byte[] block = new byte[1 << 16];
    try (OutputStream out =
        Files.newOutputStream(
            folder.resolve("filler"), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
      for (int size = block.length; size > 0; ) {
        try {
          out.write(block, 0, size);
        } catch (IOException full) {
          size /= 2;
        }
      }
    }
  }

  private static void run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(String.join(" ", command) + ": " + said).isZero();
  }
}
