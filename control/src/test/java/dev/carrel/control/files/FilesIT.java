package dev.carrel.control.files;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class FilesIT {
  private ControlFixture fixture;
  private Files files;
  private Sandbox sandbox;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture(FilesIT::small);
    files = fixture.control().files();
    sandbox = fixture.sandbox();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void whatIsWrittenIsReadAndCounted() throws IOException {
    byte[] bytes = new byte[3_000_000];
    new Random(1).nextBytes(bytes);
    FileEntry entry =
        files.write(
            ALICE,
            sandbox.id(),
            "deep/er/data.bin",
            new ByteArrayInputStream(bytes),
            WriteFile.plain());

    assertThat(entry.size()).isEqualTo(bytes.length);
    assertThat(entry.name()).isEqualTo("data.bin");
    assertThat(read("deep/er/data.bin", null)).isEqualTo(bytes);
    assertThat(read("deep/er/data.bin", new ByteRange(10L, 19L)))
        .isEqualTo(Arrays.copyOfRange(bytes, 10, 20));
    Sandbox now = fixture.control().sandboxes().get(ALICE, sandbox.id());
    assertThat(now.counters().bytesUploaded()).isEqualTo(3_000_000);
    assertThat(now.counters().bytesDownloaded()).isEqualTo(3_000_010);
  }

  @Test
  void anEtagChangesWithTheContentAndGuardsAWrite() throws IOException {
    FileEntry first = write("a", "one");
    assertThat(files.stat(ALICE, sandbox.id(), "a").etag()).isEqualTo(first.etag());
    FileEntry second = write("a", "two");
    assertThat(second.etag()).isNotEqualTo(first.etag());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                files.write(
                    ALICE,
                    sandbox.id(),
                    "a",
                    new ByteArrayInputStream(new byte[1]),
                    new WriteFile(null, 0644, false, false, first.etag())))
        .matches(e -> e.code() == ErrorCode.PRECONDITION_FAILED);
    assertThat(read("a", null)).isEqualTo("two".getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void anEtagGuardsAWriteUntilItsBodyIsThere() throws IOException {
    FileEntry first = write("a", "one");
    var body =
        new ByteArrayInputStream(new byte[10]) {
          @Override
          public synchronized int read(byte[] target, int offset, int length) {
            if (available() == 10) {
              try {
                FilesIT.this.write("a", "two");
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            }
            return super.read(target, offset, length);
          }
        };
    var options = new WriteFile(null, 0644, false, false, first.etag());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> files.write(ALICE, sandbox.id(), "a", body, options))
        .matches(e -> e.code() == ErrorCode.PRECONDITION_FAILED);
    assertThat(read("a", null)).isEqualTo("two".getBytes(StandardCharsets.UTF_8));
    FileEntry second = files.stat(ALICE, sandbox.id(), "a");
    var more = new WriteFile(null, 0644, true, false, second.etag());
    files.write(ALICE, sandbox.id(), "a", new ByteArrayInputStream(new byte[] {'!'}), more);
    assertThat(read("a", null)).isEqualTo("two!".getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void tooLargeIsRefusedWhileItStreamsAndLeavesTheOldFile() throws IOException {
    write("a", "old");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                files.write(
                    ALICE,
                    sandbox.id(),
                    "a",
                    new ByteArrayInputStream(new byte[6 << 20]),
                    WriteFile.plain()))
        .matches(e -> e.code() == ErrorCode.TOO_LARGE)
        .matches(e -> e.hint().orElse("").contains("file.max-upload"));
    assertThat(read("a", null)).isEqualTo("old".getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void listMoveCopyRemoveGlobAndGrep() throws IOException {
    write("src/one.txt", "alpha\nbeta\n");
    files.copy(ALICE, sandbox.id(), "src", "dst", true);
    files.move(ALICE, sandbox.id(), "dst/one.txt", "dst/two.txt", false);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> files.move(ALICE, sandbox.id(), "src/one.txt", "dst/two.txt", false))
        .matches(e -> e.code() == ErrorCode.FILE_EXISTS);

    assertThat(files.list(ALICE, sandbox.id(), ".", 2, 100).entries())
        .extracting(FileEntry::path)
        .contains("/workspace/dst/two.txt", "/workspace/src/one.txt");
    assertThat(files.glob(ALICE, sandbox.id(), ".", "**/*.txt", 10, false).entries()).hasSize(2);
    Grep.Result found =
        files.grep(ALICE, sandbox.id(), new Grep(".", "be.a", null, false, false, false, 0, 100));
    assertThat(found.matches()).hasSize(2).allMatch(match -> match.line() == 2);
    assertThat(files.remove(ALICE, sandbox.id(), "dst", true, false)).isEqualTo(2);
    assertThat(files.remove(ALICE, sandbox.id(), "dst", true, true)).isZero();
    assertThat(files.mkdir(ALICE, sandbox.id(), "x/y", true).type()).isEqualTo(FileEntry.Type.DIR);
  }

  @Test
  void whoAsksForMoreThanTheSettingsAllowGetsThatMuch() throws IOException {
    for (int i = 1; i <= 6; i++) {
      write("few/" + i, "same\n");
    }
    FileListing listed = files.list(ALICE, sandbox.id(), "few", 1, 1_000_000);
    assertThat(listed.entries()).hasSize(5);
    assertThat(listed.truncated()).isTrue();
    FileListing globbed = files.glob(ALICE, sandbox.id(), "few", "*", Integer.MAX_VALUE, false);
    assertThat(globbed.entries()).hasSize(5);
    assertThat(globbed.truncated()).isTrue();
    Grep.Result found =
        files.grep(ALICE, sandbox.id(), new Grep("few", "same", null, false, true, false, 0, 6));
    assertThat(found.matches()).hasSize(5);
    assertThat(found.truncated()).isTrue();
    assertThat(files.tree(ALICE, sandbox.id(), "few", 6).entries()).hasSize(6);
  }

  @Test
  void failuresAreTyped() throws IOException {
    write("file", "x");
    refused(ErrorCode.FILE_NOT_FOUND, () -> files.stat(ALICE, sandbox.id(), "nothing"));
    refused(ErrorCode.NOT_A_FILE, () -> files.read(ALICE, sandbox.id(), ".", null));
    refused(ErrorCode.INVALID_INPUT, () -> files.stat(ALICE, sandbox.id(), "../etc"));
    refused(ErrorCode.INVALID_INPUT, () -> files.list(ALICE, sandbox.id(), ".", 1, 0));
    refused(
        ErrorCode.RANGE_NOT_SATISFIABLE,
        () -> files.read(ALICE, sandbox.id(), "file", new ByteRange(5L, null)));
    refused(ErrorCode.SANDBOX_NOT_FOUND, () -> files.stat(MALLORY, sandbox.id(), "file"));
  }

  @Test
  void aZipHasTheFilesAndNoLinks() throws Exception {
    write("z/a.txt", "A");
    write("z/deep/b.txt", "B");
    files.mkdir(ALICE, sandbox.id(), "z/empty", true);
    fixture
        .control()
        .execs()
        .run(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.shell("ln -s /etc/passwd z/link; mkfifo z/pipe")));
    var out = new ByteArrayOutputStream();
    files.pack(ALICE, sandbox.id(), "z", ArchiveFormat.ZIP, out);

    var found = new TreeMap<String, String>();
    try (var zip = new ZipInputStream(new ByteArrayInputStream(out.toByteArray()))) {
      for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        found.put(entry.getName(), new String(zip.readAllBytes(), StandardCharsets.UTF_8));
      }
    }
    assertThat(found)
        .containsOnlyKeys("a.txt", "deep/", "deep/b.txt", "empty/")
        .containsEntry("deep/b.txt", "B");
  }

  @Test
  void aWatchTellsChangesAndEndsWithItsSandbox() throws Exception {
    files.mkdir(ALICE, sandbox.id(), "w", true);
    try (FileEvents events = files.watch(ALICE, sandbox.id(), "w", true)) {
      assertThat(events.next(Duration.ofMillis(1))).isNull();
      write("w/new.txt", "x");
      FileEvents.FileEvent event;
      do {
        event = Objects.requireNonNull(events.next(Duration.ofSeconds(10)));
      } while (!event.path().endsWith("new.txt"));
      fixture.control().sandboxes().delete(ALICE, sandbox.id());
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(
              () -> {
                while (true) {
                  events.next(Duration.ofSeconds(10));
                }
              });
    }
  }

  private FileEntry write(String path, String text) throws IOException {
    return files.write(
        ALICE,
        sandbox.id(),
        path,
        new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)),
        WriteFile.plain());
  }

  private byte[] read(String path, @Nullable ByteRange range) throws IOException {
    var out = new ByteArrayOutputStream();
    try (FileDownload download = files.read(ALICE, sandbox.id(), path, range)) {
      download.transferTo(out);
      assertThat(out.size()).isEqualTo(download.length());
    }
    return out.toByteArray();
  }

  private static void refused(ErrorCode code, Runnable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call::run)
        .matches(e -> e.code() == code, code.name());
  }

  private static ControlSettings small(ControlSettings settings) {
    FileSettings usual = settings.files();
    return settings.withFiles(
        new FileSettings(DataSize.ofMebibytes(5), 5, 5, usual.maxZipEntries(), usual.maxZip()));
  }
}
