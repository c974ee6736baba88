package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The recipes, and where their packages come from. */
class CatalogTest {
  private static final Path IMAGES =
      Path.of(System.getProperty("carrel.root", "..")).resolve("images");

  @TempDir private Path etc;

  @Test
  void everyRecipeIsListedAndComplete() throws IOException {
    try (Stream<Path> files = Files.list(IMAGES)) {
      assertThat(files.map(file -> String.valueOf(file.getFileName())))
          .filteredOn(name -> name.endsWith(".yaml"))
          .containsExactlyInAnyOrderElementsOf(
              Catalog.NAMES.stream().map(name -> name + ".yaml").toList());
    }
    assertThat(Catalog.load().values())
        .hasSameSizeAs(Catalog.NAMES)
        .allSatisfy(
            recipe -> {
              assertThat(recipe.description()).isNotBlank();
              assertThat(recipe.packages())
                  .isNotEmpty()
                  .doesNotHaveDuplicates()
                  .allMatch(name -> name.matches("[a-z0-9][a-z0-9.+-]+"));
            });
  }

  @Test
  void onlyTheDistributionsOwnSourcesAreUsed() throws IOException {
    Path more = Files.createDirectories(etc.resolve("apt/sources.list.d"));
    Files.writeString(etc.resolve("os-release"), "ID=debian\nVERSION_CODENAME=bookworm\n");
    Files.writeString(
        etc.resolve("apt/sources.list"),
        """
        # deb http://commented.example/debian bookworm main
        deb [arch=amd64 signed-by=/k.gpg] http://one.example/debian bookworm main contrib
        deb-src http://one.example/debian bookworm main
        deb http://other.example/debian trixie main
        """);
    Files.writeString(
        more.resolve("debian.sources"),
        """
        Types: deb
        # a remark
        URIs: http://two.example/debian
        Suites: bookworm bookworm-updates bookworm-backports
        Components: main
        Signed-By: /usr/share/keyrings/two.gpg

        Types: deb
        URIs: http://vendor.example/node
        Suites: nodistro
        Components: main

        Types: deb
        Enabled: no
        URIs: http://disabled.example/debian
        Suites: bookworm
        Components: main
        """);

    AptSources sources = AptSources.of(etc);

    assertThat(sources.codename()).isEqualTo("bookworm");
    assertThat(sources.lines())
        .isEqualTo(
            List.of(
                "deb [arch=amd64 signed-by=/k.gpg] http://one.example/debian bookworm main contrib",
                "deb [signed-by=/usr/share/keyrings/two.gpg] http://two.example/debian bookworm"
                    + " main",
                "deb [signed-by=/usr/share/keyrings/two.gpg] http://two.example/debian"
                    + " bookworm-updates main"));
  }

  @Test
  void hostWithoutSourcesCannotBuild() throws IOException {
    Files.writeString(etc.resolve("os-release"), "ID=fedora\n");

    assertThatThrownBy(() -> AptSources.of(etc))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no package sources");
  }

  @Test
  void keysCanBeElsewhere() {
    var sources =
        new AptSources(
            "sid",
            List.of(
                "deb [arch=amd64 signed-by=/a/key.gpg,/b/$1.asc] http://mirror.example/debian sid main",
                "deb http://mirror.example/debian sid-updates main"));

    assertThat(sources.keys()).containsExactly(Path.of("/a/key.gpg"), Path.of("/b/$1.asc"));
    assertThat(sources.signedBy(Map.of(Path.of("/b/$1.asc"), "/c/$2.asc")).lines())
        .containsExactly(
            "deb [arch=amd64 signed-by=/a/key.gpg,/c/$2.asc] http://mirror.example/debian sid main",
            "deb http://mirror.example/debian sid-updates main");
  }
}
