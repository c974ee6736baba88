package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Layers that were made to get out of their folder, and ones that were not. */
class LayersTest {
  private static final ImageLimits LIMITS = new ImageLimits(DataSize.ofMebibytes(200), 2000, 250);

  @TempDir private Path temporary;
  private Path outside;
  private Layers layers;
  private Disk disk = _ -> {};

  @BeforeEach
  void makeFolders() throws IOException {
    outside = Files.createDirectory(temporary.resolve("outside"));
    Files.writeString(outside.resolve("secret"), "canary");
    Files.createDirectories(temporary.resolve("images/layers"));
    Files.createDirectories(temporary.resolve("images/unfinished"));
    layers =
        new Layers(
            temporary.resolve("images/layers"),
            temporary.resolve("images/unfinished"),
            LIMITS,
            path -> disk.settle(path));
  }

  @Test
  void plainLayerIsUnpackedAsItWas() throws IOException {
    byte[] tar =
        new TarBytes()
            .folder("bin")
            .file("./bin/tool", "#!/bin/sh\n", 0755)
            .symlink("sbin", "/bin")
            .hardlink("bin/same", "bin/tool")
            .file("etc/ő-" + "long".repeat(60), "x")
            .bytes();

    Digest layer = layers.add(new ByteArrayInputStream(tar), Digest.of(tar), Progress.ignored());

    Path files = layers.files(layer);
    assertThat(files.resolve("bin/tool")).hasContent("#!/bin/sh\n").isExecutable();
    assertThat(Files.getLastModifiedTime(files.resolve("bin/tool")).toMillis())
        .isEqualTo(1_000_000_000_000L);
    assertThat(Files.readSymbolicLink(files.resolve("sbin"))).isEqualTo(Path.of("/bin"));
    assertThat(Files.isSameFile(files.resolve("bin/same"), files.resolve("bin/tool"))).isTrue();
    assertThat(files.resolve("etc/ő-" + "long".repeat(60))).hasContent("x");
    assertThat(layers.implied(layer)).containsExactly("etc");
  }

  @Test
  void aLayerIsOnTheDiskBeforeItHasItsName() throws IOException {
    var settled = new ArrayList<Path>();
    disk =
        path -> {
          assertThat(layers.all()).isEmpty();
          assertThat(path.resolve("files/a")).hasContent("b");
          settled.add(path);
        };
    add(new TarBytes().file("a", "b"));

    assertThat(settled).hasSize(1);
  }

  @Test
  void aLayerThatTheDiskDoesNotTakeIsNotThere() throws IOException {
    disk = _ -> Disk.HOST.settle(temporary.resolve("missing"));

    assertThatThrownBy(() -> add(new TarBytes().file("a", "b")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("missing");
    assertThat(layers.all()).isEmpty();
    assertNothingLeft();
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, -86_400, -315_619_200, 0x1_0000_0000L})
  void timesThatOctalDigitsCannotSayAreRead(long seconds) throws IOException {
    Digest layer = add(new TarBytes().file("old", "x").bytesWithTime(seconds));

    assertThat(Files.getLastModifiedTime(layers.files(layer).resolve("old")).to(TimeUnit.SECONDS))
        .isEqualTo(seconds);
  }

  @Test
  void timesThatNobodyCanMeanRefuseNoLayer() throws IOException {
    Digest layer = add(new TarBytes().file("old", "x").bytesWithTime(Long.MIN_VALUE));

    assertThat(Files.getLastModifiedTime(layers.files(layer).resolve("old")).toMillis()).isZero();
  }

  @Test
  void longNamesMayBeCutWithinACharacterInTheirHeader() throws IOException {
    String name = "x" + "é".repeat(80);
    Digest layer = add(new TarBytes().file(name, "1").symlink("link", name));

    assertThat(layers.files(layer).resolve(name)).hasContent("1");
    assertThat(Files.readSymbolicLink(layers.files(layer).resolve("link"))).hasToString(name);
  }

  @Test
  void compressedLayerHasTheDigestOfItsTar() throws IOException {
    byte[] tar = new TarBytes().file("a", "b").bytes();

    assertThat(
            layers.add(
                new ByteArrayInputStream(TarBytes.gzip(tar)), Digest.of(tar), Progress.ignored()))
        .isEqualTo(Digest.of(tar));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/etc/passwd",
        "../escape",
        "a/../../escape",
        "a/b/..",
        "..",
        ".wh.",
        ".wh..",
        "a/.wh...",
        ".wh.../x",
        ".wh.b/x",
        "a/.wh..wh..opq/x",
      })
  void nameThatLeadsOutIsRefused(String name) throws IOException {
    assertRefused(new TarBytes().folder("a").file(name, "x"));
  }

  @Test
  void nothingIsWrittenThroughALink() throws IOException {
    assertRefused(new TarBytes().symlink("a", outside.toString()).file("a/secret", "overwritten"));
    assertRefused(new TarBytes().symlink("a", "..").file("a/b/c", "x"));
    assertRefused(new TarBytes().symlink("a", outside.toString()).folder("a"));
    assertRefused(new TarBytes().symlink("a", outside.toString()).file("a/.wh.secret", ""));
    assertThat(outside.resolve("secret")).hasContent("canary");
  }

  @Test
  void fileReplacesALinkInsteadOfFollowingIt() throws IOException {
    Digest layer =
        add(new TarBytes().symlink("a", outside.resolve("secret").toString()).file("a", "mine"));

    assertThat(layers.files(layer).resolve("a")).hasContent("mine");
    assertThat(outside.resolve("secret")).hasContent("canary");
  }

  @Test
  void hardLinkNamesOnlyFilesOfItsLayer() throws IOException {
    String secret = outside.resolve("secret").toString();

    assertRefused(new TarBytes().hardlink("a", secret));
    assertRefused(new TarBytes().hardlink("a", "../../outside/secret"));
    assertRefused(new TarBytes().symlink("s", secret).hardlink("a", "s"));
    assertRefused(new TarBytes().symlink("s", outside.toString()).hardlink("a", "s/secret"));
    assertRefused(new TarBytes().folder("d").hardlink("a", "d"));
    assertRefused(new TarBytes().hardlink("a", "missing"));
  }

  @Test
  void devicesAreLeftOutAndSetuidIsDropped() throws IOException {
    Digest layer =
        add(
            new TarBytes()
                .entry('3', "null")
                .entry('4', "disk")
                .entry('6', "pipe")
                .file("su", "x", 06755)
                .file("hidden", "x", 0));

    Path files = layers.files(layer);
    try (Stream<Path> list = Files.list(files)) {
      assertThat(list).containsExactlyInAnyOrder(files.resolve("su"), files.resolve("hidden"));
    }
    assertThat((int) Files.getAttribute(files.resolve("su"), "unix:mode") & 07777).isEqualTo(0755);
  }

  @Test
  void whatToolsKeptForThemselvesIsLeftOut() throws IOException {
    Digest layer =
        add(new TarBytes().folder(".wh..wh.plnk").file(".wh..wh.plnk/1.2", "x").file("a", "b"));

    try (Stream<Path> list = Files.list(layers.files(layer))) {
      assertThat(list).containsExactly(layers.files(layer).resolve("a"));
    }
  }

  @Test
  void unknownKindsAndBrokenHeadersAreRefused() throws IOException {
    assertRefused(new TarBytes().entry('S', "sparse"));
    assertRefused(new TarBytes().entry('V', "volume"));
    byte[] broken = new TarBytes().file("a", "x").bytes();
    broken[0] = 'b';
    assertRefused(broken);
    byte[] cut = Arrays.copyOf(new TarBytes().file("a", "x".repeat(4000)).bytes(), 1024);
    assertThatThrownBy(() -> add(cut)).isInstanceOf(IOException.class);
    assertNothingLeft();
  }

  @Test
  void nameThatComesTwiceMeansTheSecond() throws IOException {
    Digest layer = add(new TarBytes().file("a", "first").file("a", "second").file("A", "third"));

    assertThat(layers.files(layer).resolve("a")).hasContent("second");
    assertThat(layers.files(layer).resolve("A")).hasContent("third");
  }

  @Test
  void layerWithAnotherDigestIsRefused() throws IOException {
    byte[] tar = new TarBytes().file("a", "b").bytes();
    Digest other = Digest.of(new byte[] {1});

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> layers.add(new ByteArrayInputStream(tar), other, Progress.ignored()))
        .withMessageContaining(other.toString());
    assertNothingLeft();
  }

  @Test
  void bombsAreStopped() throws IOException {
    var many = new TarBytes();
    for (int i = 0; i <= LIMITS.maxFiles(); i++) {
      many.entry('5', "d" + i);
    }
    assertTooLarge(many.bytes());
    byte[] zeros = new byte[100 << 20];
    var flat = new TarBytes();
    flat.file("zeros", new String(zeros, java.nio.charset.StandardCharsets.ISO_8859_1));
    assertTooLarge(TarBytes.gzip(flat.bytes()));
    assertNothingLeft();
  }

  @Test
  void foldersThatAreNoEntriesCountToo() throws IOException {
    var deep = new TarBytes();
    for (int i = 0; i < 20; i++) {
      deep.file(i + "/d".repeat(100) + "/f", "");
    }
    assertTooLarge(deep.bytes());
    assertNothingLeft();
  }

  @Test
  void foldersAreFoundAgainWhereverATarGoesOn() throws IOException {
    Digest layer =
        add(
            new TarBytes()
                .file("a/b/one", "1")
                .file("a/c/two", "2")
                .file("top", "3")
                .folder("a/b")
                .file("a/b/three", "4"));

    assertThat(layers.files(layer).resolve("a/b/three")).hasContent("4");
    assertThat(layers.implied(layer)).containsExactlyInAnyOrder("a", "a/c");
  }

  @Test
  void depthIsBounded() throws IOException {
    assertRefused(new TarBytes().file("d/".repeat(200) + "f", "x"));
  }

  private Digest add(TarBytes tar) throws IOException {
    return add(tar.bytes());
  }

  private Digest add(byte[] tar) throws IOException {
    return layers.add(new ByteArrayInputStream(tar), null, Progress.ignored());
  }

  private void assertRefused(TarBytes tar) throws IOException {
    assertRefused(tar.bytes());
  }

  private void assertRefused(byte[] tar) throws IOException {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> add(tar))
        .matches(e -> e.code() == ErrorCode.IMAGE_INVALID);
    assertNothingLeft();
  }

  private void assertTooLarge(byte[] tar) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> add(tar))
        .matches(e -> e.code() == ErrorCode.TOO_LARGE);
  }

  private void assertNothingLeft() throws IOException {
    try (Stream<Path> all = Files.walk(temporary)) {
      assertThat(all.filter(path -> !Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)))
          .containsExactly(outside.resolve("secret"));
    }
  }
}
