package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images as files: in, out, and in again. */
class ArchivesTest {
  private static final Platform PLATFORM = new Platform("linux", "amd64", "");

  @TempDir private Path temporary;
  private ImageFolder images;

  @BeforeEach
  void openFolder() {
    images = ImageFolder.open(temporary.resolve("images"), ImageLimits.defaults(), null);
  }

  @Test
  void dockerSaveIsReadAndWhatIsExportedTooIsTheSame() throws IOException {
    byte[] low = new TarBytes().file("bin/bash", "x", 0755).file("gone", "x").bytes();
    byte[] high = new TarBytes().file(".wh.gone", "").symlink("lib", "usr/lib").bytes();

    Stored first = read(saved(low, high, Digest.of(low), Digest.of(high)));

    assertThat(first.layers()).containsExactly(Digest.of(low), Digest.of(high));
    assertThat(first.languages()).isEqualTo(Set.of(Language.BASH));
    assertThat(images.root(first.root()).resolve("gone")).doesNotExist();

    var exported = new ByteArrayOutputStream();
    images.exportArchive(first.root(), "mine", PLATFORM, exported);
    Stored second = read(exported.toByteArray());
    var again = new ByteArrayOutputStream();
    images.exportArchive(second.root(), "mine", PLATFORM, again);

    assertThat(second.layers()).hasSize(1);
    assertThat(images.root(second.root()).resolve("bin/bash")).hasContent("x").isExecutable();
    assertThat(Files.readSymbolicLink(images.root(second.root()).resolve("lib")))
        .isEqualTo(Path.of("usr/lib"));
    assertThat(again.toByteArray()).isEqualTo(exported.toByteArray());
    assertThat(read(TarBytes.gzip(exported.toByteArray()))).isEqualTo(second);
  }

  @Test
  void layoutWithABrokenPartIsRefused() throws IOException {
    Stored first = read(saved());
    var exported = new ByteArrayOutputStream();
    images.exportArchive(first.root(), "mine", PLATFORM, exported);
    byte[] bytes = exported.toByteArray();
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    // The layer's content is stored plainly: one letter of it is changed.
    int at = text.lastIndexOf("marker-in-a-file");
    bytes[at] = 'M';

    images.sweep(Set.of(), Set.of());

    assertRefused(bytes, "and not " + exportedLayer(text));
    bytes[at] = 'm';
    assertThat(read(bytes).layers()).hasSize(1);
  }

  private static String exportedLayer(String archive) {
    int at = archive.indexOf("diff_ids");
    int digest = archive.indexOf("sha256:", at);
    return archive.substring(digest, digest + 71);
  }

  @Test
  void layersOtherThanTheConfigurationSaysAreRefused() throws IOException {
    byte[] low = new TarBytes().file("a", "x").bytes();
    byte[] high = new TarBytes().file("b", "x").bytes();

    assertRefused(saved(low, high, Digest.of(high), Digest.of(low)), "and not");
  }

  @Test
  void limitsAreOfAllLayersTogether() throws IOException {
    images =
        ImageFolder.open(
            temporary.resolve("small"), new ImageLimits(DataSize.ofMebibytes(1), 3, 250), null);
    byte[] low = new TarBytes().file("a", "x").file("b", "x").bytes();
    byte[] high = new TarBytes().file("c", "x").file("d", "x").bytes();
    byte[] large = new TarBytes().file("a", "x".repeat(300_000)).bytes();
    byte[] larger = new TarBytes().file("a", "y".repeat(800_000)).bytes();

    assertTooLarge(saved(low, high, Digest.of(low), Digest.of(high)), "more than 3 files");
    assertTooLarge(saved(large, larger, Digest.of(large), Digest.of(larger)), "1 MB");
  }

  @Test
  void whatIsNoImageIsRefused() throws IOException {
    assertRefused(new TarBytes().file("a", "x").bytes(), "neither");
    assertRefused("not a tar at all".repeat(100).getBytes(StandardCharsets.UTF_8), "not a tar");
    assertRefused(new TarBytes().file("index.json", "{").bytes(), "not readable");
    assertRefused(new TarBytes().symlink("l", "a\0b" + "x".repeat(100)).bytes(), "leads nowhere");
    assertRefused(new TarBytes().file("manifest.json", "[]").bytes(), "0 images");
    assertRefused(
        new TarBytes()
            .file("manifest.json", "[{\"Config\":\"../../etc/passwd\",\"Layers\":[\"x\"]}]")
            .bytes(),
        "lacks its part");
    assertThat(temporary.resolve("images/unfinished")).isEmptyDirectory();
  }

  @Test
  void imageForAnotherMachineIsRefused() throws IOException {
    String index =
        """
        {"manifests":[{"digest":"sha256:%s","size":1,"platform":{"os":"linux","architecture":"mips"}},
        {"digest":"sha256:%s","size":1,"platform":{"os":"windows","architecture":"amd64"}}]}
        """
            .formatted("0".repeat(64), "1".repeat(64));

    assertRefused(new TarBytes().file("index.json", index).bytes(), "linux/mips, windows/amd64");
  }

  @Test
  void sweepRemovesWhatNobodyNeeds() throws IOException {
    Stored kept = read(saved());
    byte[] other = new TarBytes().file("other", "x".repeat(5000)).bytes();
    read(saved(other, other, Digest.of(other), Digest.of(other)));

    long freed = images.sweep(Set.of(kept.root()), Set.copyOf(kept.layers()));

    assertThat(freed).isEqualTo(5000);
    assertThat(images.root(kept.root()).resolve("a")).isRegularFile();
    assertThat(images.size(Set.copyOf(kept.layers()))).isEqualTo(kept.bytes());
  }

  private void assertRefused(byte[] archive, String why) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> read(archive))
        .withMessageContaining(why)
        .matches(e -> e.code() == ErrorCode.IMAGE_INVALID);
  }

  private void assertTooLarge(byte[] archive, String why) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> read(archive))
        .withMessageContaining(why)
        .matches(e -> e.code() == ErrorCode.TOO_LARGE);
  }

  private Stored read(byte[] archive) throws IOException {
    return images.importArchive(new ByteArrayInputStream(archive), PLATFORM, Progress.ignored());
  }

  private static byte[] saved() throws IOException {
    byte[] low = new TarBytes().file("a", "marker-in-a-file").bytes();
    return saved(low, low, Digest.of(low), Digest.of(low));
  }

  private static byte[] saved(byte[] low, byte[] high, Digest lowSaid, Digest highSaid)
      throws IOException {
    String config = "{\"rootfs\":{\"diff_ids\":[\"%s\",\"%s\"]}}".formatted(lowSaid, highSaid);
    var bytes = new ByteArrayOutputStream();
    var tar = new TarWriter(bytes);
    tar.file("low/layer.tar", low);
    if (Arrays.equals(low, high)) {
      tar.symlink("high/layer.tar", "../low/layer.tar", 0);
    } else {
      tar.file("high/layer.tar", TarBytes.gzip(high));
    }
    tar.file("c.json", config.getBytes(StandardCharsets.UTF_8));
    tar.file(
        "manifest.json",
        "[{\"Config\":\"c.json\",\"Layers\":[\"low/layer.tar\",\"high/layer.tar\"]}]"
            .getBytes(StandardCharsets.UTF_8));
    tar.finish();
    return bytes.toByteArray();
  }
}
