package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Language;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Layers put together to a root. */
class RootsTest {
  @TempDir private Path temporary;
  private Path outside;
  private Layers layers;
  private Roots roots;
  private Disk disk = _ -> {};

  @BeforeEach
  void makeFolders() throws IOException {
    outside = Files.createDirectory(temporary.resolve("outside"));
    Files.writeString(outside.resolve("secret"), "canary");
    for (String part : List.of("layers", "unfinished", "roots")) {
      Files.createDirectories(temporary.resolve("images").resolve(part));
    }
    Path images = temporary.resolve("images");
    Path unfinished = images.resolve("unfinished");
    layers = new Layers(images.resolve("layers"), unfinished, ImageLimits.defaults(), _ -> {});
    roots = new Roots(images.resolve("roots"), unfinished, layers, path -> disk.settle(path));
  }

  @Test
  void upperLayersHideLowerOnes() throws IOException {
    Path root =
        root(
            new TarBytes().file("a", "low").file("b", "low").file("d/x", "low").file("e/y", "low"),
            new TarBytes().file(".wh.a", "").file("b", "high").file("d/.wh..wh..opq", ""),
            new TarBytes().file("d/z", "top").file("e/.wh.y", "").file("e/w", "top"));

    assertThat(names(root)).containsExactlyInAnyOrder("b", "d", "d/z", "e", "e/w");
    assertThat(root.resolve("b")).hasContent("high");
  }

  @Test
  void aRootIsOnTheDiskBeforeItHasItsName() throws IOException {
    var whole = new ArrayList<List<String>>();
    disk =
        path -> {
          assertThat(roots.all()).isEmpty();
          whole.add(names(path));
        };

    root(new TarBytes().file("a", "low"), new TarBytes().file("b", "high"));

    assertThat(whole).hasSize(1);
    assertThat(whole.getFirst()).containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void whiteoutIsAboutLowerLayersOnly() throws IOException {
    Path root =
        root(
            new TarBytes().file("d/old", "x"),
            new TarBytes().file("d/new", "x").file("d/.wh.new", "").file("d/.wh..wh..opq", ""));

    assertThat(names(root)).containsExactlyInAnyOrder("d", "d/new");
  }

  @Test
  void layersAreSharedAndNotCopied() throws IOException {
    var base = new TarBytes().file("shared", "x".repeat(1000)).bytes();
    Path one = root(base, new TarBytes().file("one", "1").bytes());
    Path two = root(base, new TarBytes().file("two", "2").bytes());

    assertThat(Files.isSameFile(one.resolve("shared"), two.resolve("shared"))).isTrue();
    assertThat(layers.all()).hasSize(3);
  }

  @Test
  void linksOfLowerLayersLeadNobodyOut() throws IOException {
    Path root =
        root(
            new TarBytes()
                .symlink("out", outside.toString())
                .symlink("up", "../../outside")
                .symlink("file", outside.resolve("secret").toString()),
            new TarBytes()
                .file("out/secret", "mine")
                .file("up/secret", "mine")
                .file("out/.wh.secret", "")
                .file("file", "mine"));

    assertThat(outside.resolve("secret")).hasContent("canary");
    assertThat(names(outside)).containsExactly("secret");
    assertThat(root.resolve("file")).isRegularFile().hasContent("mine");
  }

  @Test
  void whiteoutBehindALinkRemovesNothingOutside() throws IOException {
    root(
        new TarBytes().symlink("out", outside.toString()),
        new TarBytes().file("out/.wh.secret", "").file("out/.wh..wh..opq", ""));

    assertThat(outside.resolve("secret")).hasContent("canary");
  }

  @Test
  void folderThatIsOnlyUsedGoesWhereALinkLeadsInside() throws IOException {
    var base = new TarBytes().folder("usr").file("usr/bin/sh", "sh").symlink("bin", "/usr/bin");

    Path used = root(base.bytes(), new TarBytes().file("bin/tool", "x").bytes());
    Path said = root(base.bytes(), new TarBytes().folder("bin").file("bin/tool", "x").bytes());

    assertThat(used.resolve("usr/bin/tool")).hasContent("x");
    assertThat(Files.isSymbolicLink(used.resolve("bin"))).isTrue();
    assertThat(Files.isDirectory(said.resolve("bin"), LinkOption.NOFOLLOW_LINKS)).isTrue();
  }

  @Test
  void interpretersAreFoundThroughLinks() throws IOException {
    Path root =
        root(
            new TarBytes()
                .file("usr/bin/python3.11", "x", 0755)
                .symlink("usr/bin/python3", "python3.11")
                .symlink("bin", "usr/bin")
                .symlink("usr/bin/node", "/etc/alternatives/node")
                .symlink("etc/alternatives/node", "/usr/lib/node")
                .file("usr/lib/node", "x", 0755)
                .file("usr/bin/R", "not executable", 0644)
                .symlink("usr/bin/bash", outside.resolve("secret").toString())
                .symlink("usr/local/bin/bash", "bash"));

    assertThat(Interpreters.in(root)).containsExactlyInAnyOrder(Language.PYTHON, Language.NODE);
  }

  private Path root(TarBytes... tars) throws IOException {
    var all = new ArrayList<byte[]>();
    for (TarBytes tar : tars) {
      all.add(tar.bytes());
    }
    return root(all.toArray(new byte[0][]));
  }

  private Path root(byte[]... tars) throws IOException {
    var stack = new ArrayList<Digest>();
    for (byte[] tar : tars) {
      stack.add(
          layers.add(new java.io.ByteArrayInputStream(tar), Digest.of(tar), Progress.ignored()));
    }
    return roots.path(roots.assemble(stack, Progress.ignored()));
  }

  private static List<String> names(Path root) throws IOException {
    try (Stream<Path> all = Files.walk(root)) {
      return all.filter(path -> !path.equals(root))
          .map(path -> root.relativize(path).toString())
          .toList();
    }
  }
}
