package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases F06 and F07: archives that honest tools do not write. */
class UnpackerTest {
  private static final Unpacker.Limits LIMITS = new Unpacker.Limits(4 << 20, 100, 50);

  @TempDir private Path folder;
  private final TreeMap<String, String> came = new TreeMap<>();

  private final Unpacker.Sink sink =
      new Unpacker.Sink() {
        @Override
        public void folder(String name) {
          came.put(name + "/", "");
        }

        @Override
        public void file(String name, long size, boolean executable, InputStream content)
            throws IOException {
          byte[] bytes = content.readAllBytes();
          assertThat(bytes).hasSize((int) size);
          came.put(name, (executable ? "x:" : "") + new String(bytes, StandardCharsets.UTF_8));
        }
      };

  @Test
  void aZipIsUnpacked() throws IOException {
    unpack(zip("a.txt", "one", "d/b.txt", "two"));
    assertThat(came).containsEntry("a.txt", "one").containsEntry("d/b.txt", "two").hasSize(2);
  }

  @Test
  void aTarIsUnpackedPlainAndPacked() throws IOException {
    byte[] tar = new TarBytes().folder("d").file("d/run", "go", 06755).bytes();
    unpack(tar);
    assertThat(came).containsEntry("d/", "").containsEntry("d/run", "x:go");
    came.clear();
    unpack(TarBytes.gzip(tar));
    assertThat(came).containsEntry("d/run", "x:go");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../out",
        "a/../../out",
        "/etc/passwd",
        "a\\..\\b",
        "a\u0000b",
        "a\nb",
        "a/..",
        ".."
      })
  void namesThatLeadOutAreRefused(String name) throws IOException {
    refused(zip("good", "1", name, "evil")).withMessageContaining("refused");
    refused(new TarBytes().file("good", "1").file(name.replace('\0', '\n'), "evil").bytes());
  }

  @ParameterizedTest
  @ValueSource(strings = {"readme", "README/x", "ｒeadme", "README"})
  void namesThatCollideAreRefused(String other) throws IOException {
    refused(new TarBytes().file("README", "1").file(other, "2").bytes());
  }

  @Test
  void linksAndDevicesAreRefused() throws IOException {
    refused(new TarBytes().symlink("l", "/etc").file("l/passwd", "x").bytes())
        .withMessageContaining("is a link");
    refused(new TarBytes().file("f", "1").hardlink("h", "f").bytes());
    refused(new TarBytes().entry('3', "null").bytes()).withMessageContaining("device");
    refused(new TarBytes().entry('6', "pipe").bytes());
    byte[] zip = zip("l", "/etc/passwd");
    // Made on Unix, and the mode of a link.
    int central = central(zip);
    zip[central + 5] = 3;
    ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN).putInt(central + 38, 0120777 << 16);
    refused(zip).withMessageContaining("is a link");
  }

  @Test
  void whatGrowsBeyondItsLimitsIsRefused() throws IOException {
    String zeros = "\0".repeat(3 << 20);
    refused(zip("zeros", zeros)).withMessageContaining("times as large");
    refused(TarBytes.gzip(new TarBytes().file("zeros", zeros).bytes()))
        .withMessageContaining("times as large");
    refused(zip("a", "1".repeat(3 << 20), "b", "2".repeat(3 << 20)));
    var many = new TarBytes();
    for (int i = 0; i < 101; i++) {
      many.file("f" + i, "");
    }
    assertThat(refused(many.bytes()).withMessageContaining("more than 100 files")).isNotNull();
  }

  /** Few entries can name many folders. */
  @Test
  void foldersThatAreOnlyInNamesCountToo() throws IOException {
    var deep = new TarBytes();
    for (int i = 0; i < 90; i++) {
      deep.file(i + "/" + "aaaaaaa/".repeat(125) + "f", "");
    }
    refused(TarBytes.gzip(deep.bytes())).withMessageContaining("more than 100 files and folders");
    refused(
            new TarBytes()
                .file("\uff0f".repeat(80), "")
                .file("x" + "\uff0f".repeat(80), "")
                .bytes())
        .withMessageContaining("more than 100 files and folders");
    var shared = new TarBytes();
    for (int i = 0; i < 50; i++) {
      shared.file("d/".repeat(49) + i, "");
    }
    unpack(shared.bytes());
    assertThat(came).hasSize(50);
  }

  @Test
  void aSignThatSomeTakeForASlashIsComparedAsOne() throws IOException {
    refused(new TarBytes().file("a/b", "1").file("a\uff0fb", "2").bytes())
        .withMessageContaining("much like another name");
    refused(new TarBytes().file("a\uff0fb/c", "1").file("a/b/d", "2").bytes())
        .withMessageContaining("much like another name");
    unpack(new TarBytes().file("a\uff0fb", "1").file("a\uff0fc", "2").file("a/d", "3").bytes());
    assertThat(came).hasSize(3);
  }

  @Test
  void aSizeThatIsNotTrueIsRefused() throws IOException {
    byte[] zip = zip("a", "x".repeat(2000));
    ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN).putInt(central(zip) + 24, 10);
    refused(zip).withMessageContaining("not as its directory says");
  }

  @Test
  void partsThatLieOverEachOtherAreRefused() throws IOException {
    byte[] zip = zip("a", "same", "b", "same");
    ByteBuffer bytes = ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN);
    int second = central(zip) + 46 + 1;
    assertThat(bytes.getInt(second)).isEqualTo(0x02014b50);
    bytes.putInt(second + 42, 0);
    refused(zip).withMessageContaining("over each other");
  }

  @Test
  void aNameThatOnlySomeReadersSeeIsRefused() throws IOException {
    byte[] zip = zip("a", "1");
    zip[30] = 'b';
    refused(zip).withMessageContaining("another name");
  }

  @Test
  void whatIsBrokenIsRefused() throws IOException {
    byte[] zip = zip("a", "x".repeat(5000));
    for (int cut : new int[] {4, 40, zip.length - 1}) {
      refused(java.util.Arrays.copyOf(zip, cut));
    }
    byte[] gzip = TarBytes.gzip(new TarBytes().file("a", "x".repeat(5000)).bytes());
    refused(java.util.Arrays.copyOf(gzip, gzip.length / 2));
    refused("no archive".getBytes(StandardCharsets.UTF_8));
    refused(new byte[0]);
  }

  private ThrowableAssertAlternative<SandboxException> refused(byte[] archive) {
    came.clear();
    var failure =
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> unpack(archive))
            .matches(e -> e.code() == ErrorCode.INVALID_INPUT || e.code() == ErrorCode.TOO_LARGE);
    assertThat(came).as("nothing comes of an archive that is refused").isEmpty();
    return failure;
  }

  private void unpack(byte[] archive) throws IOException {
    Path file = folder.resolve("archive");
    Files.write(file, archive);
    Unpacker.unpack(file, LIMITS, sink);
  }

  private static byte[] zip(String... namesAndContents) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(out)) {
      for (int i = 0; i < namesAndContents.length; i += 2) {
        zip.putNextEntry(new ZipEntry(namesAndContents[i]));
        zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
      }
    }
    return out.toByteArray();
  }

  /** Where the directory begins. */
  private static int central(byte[] zip) {
    return ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN).getInt(zip.length - 22 + 16);
  }
}
