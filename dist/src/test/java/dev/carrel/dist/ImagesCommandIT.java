package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.cli.ServedServer;
import dev.carrel.dist.Desk.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code carrel images …} against a server and a registry that are there for them alone. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ImagesCommandIT {
  private Path folder = Path.of("");
  private SmallImage image;
  private Desk desk;
  private ServedServer server;

  @BeforeAll
  void serve(@TempDir Path temporary) throws Exception {
    folder = temporary;
    image = SmallImage.in(Files.createDirectory(folder.resolve("image")));
    desk = new Desk(folder);
    server = desk.serve();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @Test
  void theListHasTheHostAndTheCatalog() {
    Outcome table = desk.carrel("images", "list");

    assertThat(table.code()).isZero();
    assertThat(table.out())
        .contains("NAME", "LANGUAGES", "ENGINES")
        .containsPattern("host +host +ready")
        .containsPattern("data-science +catalog +available");
    assertThat(table.err()).contains("on disk: ");
    assertThat(desk.carrel("images", "ls", "--json").out())
        .contains("\"disk_bytes\" : ", "\"name\" : \"host\"", "\"name\" : \"data-science\"");
  }

  @Test
  void anArchiveIsTakenInWrittenOutAndTakenInAgain() throws Exception {
    Path saved = image.saved();
    Outcome imported = desk.carrel("images", "import", saved.toString(), "mine");
    assertThat(imported.code()).as(imported.err()).isZero();
    assertThat(imported.out()).matches("mine +ready +1 MB\n");

    Path exported = folder.resolve("exported.tar");
    assertThat(desk.carrel("images", "export", "mine", exported.toString()).out())
        .matches(exported + " +1 MB\n");
    Outcome again = desk.carrel("images", "import", exported.toString(), "mine-again", "--json");
    assertThat(again.out())
        .contains(
            "\"name\" : \"mine-again\"", "\"status\" : \"ready\"", "\"source\" : \"archive\"");
    assertThat(desk.carrel("images", "export", "mine", exported.toString(), "--json").out())
        .contains("\"size_bytes\" : " + Files.size(exported));
    assertThat(desk.carrel("images", "list").out()).containsPattern("mine +archive +ready");

    assertThat(desk.carrel("images", "rm", "mine").out()).isEqualTo("mine\n");
    assertThat(desk.carrel("images", "rm", "mine-again", "--json").out())
        .contains("\"deleted\" : [ \"mine-again\" ]");
    Outcome gone = desk.carrel("images", "rm", "mine");
    assertThat(gone.code()).isEqualTo(125);
    assertThat(gone.err()).contains("mine");
  }

  @Test
  void whatAnImageWasBuiltOfIsShownWrittenAndReadAgain() throws Exception {
    assertThat(desk.carrel("images", "import", image.saved().toString(), "built").code()).isZero();
    keepLock();
    Path file = folder.resolve("built.lock.json");

    assertThat(desk.carrel("images", "lock", "built", file.toString()).out())
        .isEqualTo(file + "  2 packages\n");

    assertThat(file).content().contains("\n    \"bash:arm64=5.2\",\n");
    assertThat(desk.carrel("images", "lock", "built").out()).isEqualTo(Files.readString(file));
    Outcome other = desk.carrel("images", "build", "python", "--locked", file.toString());
    assertThat(other.code()).isEqualTo(2);
    assertThat(other.err()).contains("the lock is for built and not for python");
    Files.writeString(file, "{\"image\": 1");
    assertThat(desk.carrel("images", "build", "python", "--locked", file.toString()).err())
        .contains("is not what 'carrel images lock' writes");
    assertThat(desk.carrel("images", "build", "python", "--snapshot", "x y").err())
        .contains("snapshot");
    Outcome shown = desk.carrel("images", "show", "built");
    assertThat(shown.out()).contains("built  ready", "digest: sha256:", "languages: ");
    assertThat(desk.carrel("images", "show", "built", "--json").out()).contains("\"lock\" : null");
    assertThat(desk.carrel("images", "rm", "built").code()).isZero();
  }

  /** As a build leaves it, which would take too long here. */
  private void keepLock() throws Exception {
    Path locks;
    try (Stream<Path> all = Files.walk(folder)) {
      locks = all.filter(path -> path.endsWith("images/locks")).findFirst().orElseThrow();
    }
    Path roots = locks.resolveSibling("roots");
    try (Stream<Path> all = Files.list(roots)) {
      for (Path root : all.toList()) {
        Files.writeString(
            locks.resolve(root.getFileName() + ".json"),
            """
            {"image":"built","release":"bookworm","architecture":"arm64","source_date_epoch":7,
             "snapshot":null,"digest":null,"packages":["bash:arm64=5.2","jq:arm64=1.6-2"]}
            """);
      }
    }
  }

  @Test
  void whatIsNoArchiveIsRefusedAndPruned() throws Exception {
    Path broken = Files.writeString(folder.resolve("broken.tar"), "not a tar at all");

    Outcome refused = desk.carrel("images", "import", broken.toString(), "broken");

    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.err()).isNotBlank();
    assertThat(desk.carrel("images", "list").out()).doesNotContainPattern("broken +archive +ready");
    Outcome pruned = desk.carrel("images", "prune", "--json");
    assertThat(pruned.code()).isZero();
    assertThat(pruned.out()).contains("\"freed_bytes\" : ", "\"removed\" : ");
    assertThat(desk.carrel("images", "list", "--json").out()).doesNotContain("\"broken\"");
  }

  @Test
  void anImageIsPulledFromARegistryAndPrunedWhenNobodyIsOnIt() throws Exception {
    try (RegistryProcess registry =
        RegistryProcess.serving(Files.createDirectory(folder.resolve("registry")), image)) {
      String reference = registry.name() + "/small:1";

      Outcome pulled = desk.carrel("images", "pull", reference);

      assertThat(pulled.code()).as(pulled.err()).isZero();
      assertThat(pulled.out()).contains("ready");
      assertThat(desk.carrel("images", "list", "--json").out())
          .contains("\"source\" : \"registry\"", "small");
      Outcome absent = desk.carrel("images", "pull", registry.name() + "/small:2");
      assertThat(absent.code()).isEqualTo(1);
      assertThat(absent.err()).contains("small:2");
      Outcome pruned = desk.carrel("images", "prune", "--unused");
      assertThat(pruned.out()).contains("small");
      assertThat(pruned.err()).contains("freed: ");
      assertThat(desk.carrel("images", "list").out()).doesNotContainPattern("registry +ready");
    }
  }

  @Test
  void whatTheCatalogHasNotCannotBeBuilt() {
    Outcome unknown = desk.carrel("images", "build", "nothing-of-the-kind");

    assertThat(unknown.code()).isEqualTo(125);
    assertThat(unknown.err()).contains("nothing-of-the-kind");
    Outcome silent = desk.carrel("images", "log", "nothing-of-the-kind");
    assertThat(silent.code()).isEqualTo(125);
  }
}
