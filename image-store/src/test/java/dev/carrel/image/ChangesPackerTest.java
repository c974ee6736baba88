package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Upper layers of overlays as layers of images, also upper layers of an attacker's making. */
final class ChangesPackerTest {
  private static final long MEGABYTE = 1 << 20;

  @TempDir private Path upper;

  @BeforeEach
  void fill() throws Exception {
    Files.createDirectories(upper.resolve("etc/opaque"));
    Files.writeString(upper.resolve("etc/file"), "text");
  }

  @Test
  void removalsBecomeWhatImagesNoteOfThem() throws Exception {
    run("mknod", upper.resolve("etc/gone").toString(), "c", "0", "0");
    Files.getFileAttributeView(upper.resolve("etc/opaque"), UserDefinedFileAttributeView.class)
        .write("overlay.opaque", ByteBuffer.wrap(new byte[] {'y'}));

    assertThat(names())
        .containsExactly(
            "etc/", "etc/file", "etc/.wh.gone", "etc/opaque/", "etc/opaque/.wh..wh..opq");
  }

  @Test
  void placesOfOursPipesAndSecondNamesAreLeftOut() throws Exception {
    for (String ours : List.of("workspace", "tmp", "run", "dev", "proc", "opt/carrel")) {
      Files.createDirectories(upper.resolve(ours).resolve("below"));
    }
    Files.createDirectories(upper.resolve("srv/tmp"));
    Files.createLink(upper.resolve("etc/second"), upper.resolve("etc/file"));
    run("mkfifo", upper.resolve("etc/pipe").toString());
    var out = new ByteArrayOutputStream();
    long leftOut = new ChangesPacker(upper, new TarWriter(out), 100, 4).run();

    assertThat(leftOut).isEqualTo(1);
    assertThat(names())
        .containsExactly(
            "etc/", "etc/file", "etc/opaque/", "etc/second", "opt/", "srv/", "srv/tmp/");
  }

  @Test
  void namesThatMeanARemovalAndDevicesAreRefused() throws Exception {
    Path forged = Files.writeString(upper.resolve("etc/.wh.passwd"), "");
    assertRefused(ErrorCode.IMAGE_INVALID, "would mean a removal");
    Files.delete(forged);
    run("mknod", upper.resolve("etc/null").toString(), "c", "1", "3");
    assertRefused(ErrorCode.IMAGE_INVALID, "is a device");
  }

  @Test
  void holesAndNumbersAreBounded() throws Exception {
    try (var file = new RandomAccessFile(upper.resolve("sparse").toFile(), "rw")) {
      file.setLength(1L << 40);
    }
    assertRefused(ErrorCode.TOO_LARGE, "holes");
    Files.delete(upper.resolve("sparse"));
    for (int i = 0; i < 100; i++) {
      Files.createFile(upper.resolve("f" + i));
    }
    assertRefused(ErrorCode.TOO_LARGE, "more than 100 files");
  }

  private void assertRefused(ErrorCode code, String why) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(this::names)
        .withMessageContaining(why)
        .matches(e -> e.code() == code, code.name());
  }

  private List<String> names() throws IOException {
    var out = new ByteArrayOutputStream();
    var tar = new TarWriter(out);
    new ChangesPacker(upper, tar, 100, MEGABYTE).run();
    tar.finish();
    var names = new ArrayList<String>();
    var reader = new TarReader(new ByteArrayInputStream(out.toByteArray()), BadImage::because);
    for (TarEntry entry = reader.next(); entry != null; entry = reader.next()) {
      names.add(entry.name());
    }
    return names;
  }

  private static void run(String... command) throws Exception {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }
}
