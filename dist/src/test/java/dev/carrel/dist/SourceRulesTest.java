package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules of the house that are about text: sizes, and what tests must not do. */
class SourceRulesTest {
  private static final Path ROOT = Path.of(System.getProperty("carrel.root", ".."));
  private static final Set<String> NOT_OURS =
      Set.of("target", "build", "generated", "node_modules", ".git", ".carrel", "__pycache__");
  private static final int MAX_LINES = 600;
  private static final int MAX_TEST_LINES = 800;
  private static final int MAX_README_LINES = 40;

  @Test
  void noSourceFileIsTooLong() {
    assertThat(
            sources(".java", ".c", ".h", ".py", ".cjs", ".R")
                .filter(file -> lines(file).size() > (isTest(file) ? MAX_TEST_LINES : MAX_LINES)))
        .isEmpty();
  }

  @Test
  void testsWaitForConditionsAndSkipNothingSilently() {
    Pattern forbidden =
        Pattern.compile(
            "Thread\\.sleep|TimeUnit\\.\\w+\\.sleep|@Disabled|org\\.junit\\.jupiter\\.api\\.Assertions|mockito");

    assertThat(
            sources(".java")
                .filter(file -> file.toString().contains("/src/test/"))
                .filter(file -> !file.endsWith("SourceRulesTest.java"))
                .filter(contains(forbidden)))
        .isEmpty();
  }

  @Test
  void nothingIsLeftForLater() {
    Pattern forbidden = Pattern.compile("\\b(TODO|FIXME|XXX|HACK)\\b|@author");

    assertThat(
            sources(".java", ".c", ".h", ".py", ".cjs", ".R", ".sh")
                .filter(file -> !file.endsWith("SourceRulesTest.java"))
                .filter(contains(forbidden)))
        .isEmpty();
  }

  @Test
  void everyPackageIsNullMarked() {
    assertThat(
            sources(".java")
                .filter(file -> !isTest(file))
                .filter(contains(Pattern.compile("^package ", Pattern.MULTILINE)))
                .map(file -> file.resolveSibling("package-info.java"))
                .distinct()
                .filter(info -> !Files.exists(info) || !text(info).contains("@NullMarked")))
        .isEmpty();
  }

  @Test
  void everyTopFolderSaysWhatItIsInAFewLines() throws IOException {
    try (Stream<Path> folders = Files.list(ROOT)) {
      List<Path> wordless =
          folders
              .filter(Files::isDirectory)
              .filter(folder -> !name(folder).startsWith(".") && !NOT_OURS.contains(name(folder)))
              .map(folder -> folder.resolve("README.md"))
              .filter(readme -> !Files.exists(readme) || lines(readme).size() > MAX_README_LINES)
              .toList();
      assertThat(wordless).isEmpty();
    }
  }

  @Test
  void everyPackageOfTheLargeModulesIsInTheirReadme() throws IOException {
    for (String module : List.of("control", "server")) {
      String readme = text(ROOT.resolve(module).resolve("README.md"));
      try (Stream<Path> packages =
          Files.list(ROOT.resolve(module).resolve("src/main/java/dev/carrel").resolve(module))) {
        assertThat(packages.filter(Files::isDirectory).map(SourceRulesTest::name))
            .as(module)
            .isNotEmpty()
            .allMatch(
                name ->
                    readme.contains("`" + name + "`")
                        || readme.contains("`dev.carrel.server." + name + "`"));
      }
    }
  }

  @Test
  void everyDocumentIsFoundFromTheirList() throws IOException {
    String list = text(ROOT.resolve("docs/README.md"));
    try (Stream<Path> documents = Files.list(ROOT.resolve("docs"))) {
      assertThat(
              documents
                  .map(SourceRulesTest::name)
                  .filter(name -> name.endsWith(".md") && !name.equals("README.md")))
          .isNotEmpty()
          .allMatch(name -> list.contains("(" + name + ")"));
    }
  }

  private static Stream<Path> sources(String... endings) {
    try (Stream<Path> walk = Files.walk(ROOT)) {
      return walk
          .filter(Files::isRegularFile)
          .filter(file -> Stream.of(endings).anyMatch(file.toString()::endsWith))
          .filter(SourceRulesTest::isOurs)
          .toList()
          .stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isOurs(Path file) {
    for (Path part : ROOT.relativize(file)) {
      if (NOT_OURS.contains(part.toString())) {
        return false;
      }
    }
    return true;
  }

  private static boolean isTest(Path file) {
    String path = ROOT.relativize(file).toString();
    return path.contains("/test/")
        || path.contains("/tests/")
        || path.startsWith("e2e/")
        || path.startsWith("engines/testkit/");
  }

  private static Predicate<Path> contains(Pattern pattern) {
    return file -> pattern.matcher(text(file)).find();
  }

  private static List<String> lines(Path file) {
    return text(file).lines().toList();
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String name(Path path) {
    return String.valueOf(path.getFileName());
  }
}
