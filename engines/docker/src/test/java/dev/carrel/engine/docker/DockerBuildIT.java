package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.Guest;
import dev.carrel.image.BuildOrder;
import dev.carrel.image.Builders;
import dev.carrel.image.ImageFolder;
import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.image.ImageLimits;
import dev.carrel.image.ImageLock;
import dev.carrel.image.LockedPackage;
import dev.carrel.image.Progress;
import dev.carrel.image.Recipe;
import dev.carrel.image.Reference;
import dev.carrel.image.Snapshot;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.WarmSettings;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Images built in containers. The base image is made here, with manual pages and an ordinary user,
 * so that what a build does about them can be seen.
 */
@Timeout(900)
final class DockerBuildIT extends MachineTests {
  private static final Recipe TINY = new Recipe("tiny", "", List.of("bash"), null);
  private static final String BASE = "carrel-test-base:1";
  private static final Map<String, String> BUILDS = Map.of("dev.carrel.build", "1");

  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  @TempDir private Path temporary;

  @BeforeAll
  static void makeBase(@TempDir Path folder) throws Exception {
    Path tar = folder.resolve("base.tar");
    var mmdebstrap =
        new ProcessBuilder(
                "mmdebstrap",
                "--variant=apt",
                "--include=hello",
                "--customize-hook=echo 'other:x:1000:1000::/home/other:/bin/sh' >> \"$1/etc/passwd\"",
                "--customize-hook=echo 'other:x:1000:' >> \"$1/etc/group\"",
                release(),
                tar.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    assertThat(mmdebstrap.waitFor()).as(Files.readString(folder.resolve("log"))).isZero();
    DAEMON.client().importImage(BASE, Files.readAllBytes(tar), "dev.carrel.test=1");
  }

  private static String release() throws Exception {
    return Files.readAllLines(Path.of("/etc/os-release")).stream()
        .filter(line -> line.startsWith("VERSION_CODENAME="))
        .map(line -> line.substring(line.indexOf('=') + 1).replace("\"", ""))
        .findFirst()
        .orElseThrow();
  }

  @Override
  protected DaemonSettings daemon() {
    return DAEMON.settings();
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void packagesBecomeARootAndItsLockTheSamePackages() throws Exception {
    ImageFolder images = images(BASE);
    var said = new Listener();

    Stored stored = images.build(TINY, BuildOrder.NEWEST, said);

    Path root = images.root(stored.root());
    assertThat(stored.languages()).containsExactly(Language.BASH);
    assertThat(root.resolve("etc/passwd"))
        .content()
        .contains("carrel:x:1000:1000")
        .doesNotContain("other");
    assertThat(root.resolve("usr/share/man")).isEmptyDirectory();
    for (String cleaned : List.of("var/lib/apt/lists", "tmp", "run", "etc/apt/preferences.d")) {
      assertThat(root.resolve(cleaned)).isEmptyDirectory();
    }
    for (String gone : List.of("carrel-build", ".dockerenv", "usr/sbin/policy-rc.d")) {
      assertThat(root.resolve(gone)).doesNotExist();
    }
    assertThat(root.resolve("etc/apt/sources.list")).content().doesNotContain("carrel-build");
    assertThat(said.lines)
        .as("the versions of its packages are in the log")
        .anyMatch(line -> line.startsWith("bash\t"));
    assertThat(said.steps)
        .contains(
            "installing 1 packages and what they need, with docker, on " + BASE,
            "putting layers together");
    assertThat(DAEMON.client().list(BUILDS)).isEmpty();
    sandboxStartsOn(root);
    ImageLock lock = images.lock(stored.root()).orElseThrow();
    assertThat(lock.digest()).isEqualTo(stored.root());
    assertThat(lock.release()).isEqualTo(release());
    assertThat(Files.getLastModifiedTime(root.resolve("etc/passwd")).toInstant().getEpochSecond())
        .isLessThanOrEqualTo(lock.sourceDateEpoch());
    honoursALock(images, lock);
    refusesLocksThatCannotBeHonoured(images, lock);
    assertThat(DAEMON.client().list(BUILDS)).isEmpty();
  }

  private void sandboxStartsOn(Path root) {
    var spec = new MachineSpec(new RootImage.Folder(root), spec().limits(), null, null);

    Finished finished =
        Finished.shell(Guest.of(start(spec)), "id -un; bash -c 'echo ${BASH_VERSION%%.*}'");

    assertThat(finished.stdout()).as(finished.stderr()).matches("carrel\n[5-9]\n");
  }

  /** The base has a package that the lock does not, so that more than nothing is to do. */
  private static void honoursALock(ImageFolder images, ImageLock lock) throws Exception {
    List<LockedPackage> fewer =
        lock.packages().stream().filter(one -> !one.name().equals("hello")).toList();
    assertThat(fewer).hasSize(lock.packages().size() - 1);
    var said = new Listener();

    Stored again = images.build(TINY, new BuildOrder(null, with(lock, fewer)), said);

    assertThat(images.lock(again.root()).orElseThrow().packages()).isEqualTo(fewer);
    assertThat(images.root(again.root()).resolve("usr/bin/hello")).doesNotExist();
    assertThat(images.root(again.root()).resolve("etc/apt/preferences.d")).isEmptyDirectory();
    assertThat(said.steps).contains("installing the packages of the lock...");
  }

  private static void refusesLocksThatCannotBeHonoured(ImageFolder images, ImageLock lock) {
    List<LockedPackage> gone =
        lock.packages().stream()
            .map(
                one ->
                    one.name().equals("bash")
                        ? new LockedPackage("bash", one.architecture(), "0.1-gone")
                        : one)
            .toList();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () -> images.build(TINY, new BuildOrder(null, with(lock, gone)), new Listener()))
        .withMessageContaining("do not have 1 of the versions that the lock names: bash 0.1-gone")
        .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);
    var other = new ImageLock("tiny", "other", "any", 1, null, null, lock.packages());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images.build(TINY, new BuildOrder(null, other), new Listener()))
        .withMessageContaining("the lock is for other, and the base image " + BASE);
  }

  @Test
  void whatCannotBeBuiltSaysWhy() throws Exception {
    var unknown = new Recipe("unknown", "", List.of("carrel-no-such-package"), null);
    var nowhere = new BuildOrder(new Snapshot("http://127.0.0.1:1/{archive}/20250520"), null);

    refused(BASE, unknown, BuildOrder.NEWEST, "Unable to locate package carrel-no-such-package");
    refused(BASE, TINY, nowhere, "the build failed: ");
    refused("carrel-test-absent:1", TINY, BuildOrder.NEWEST, "image.build-base");
    DAEMON.client().importImage("carrel-test-empty:1", new byte[1024], "dev.carrel.test=1");
    refused("carrel-test-empty:1", TINY, BuildOrder.NEWEST, "is no Debian or Ubuntu to build on");
    assertThat(DAEMON.client().list(BUILDS)).isEmpty();
    assertThat(temporary.resolve("images/unfinished")).isEmptyDirectory();
    assertThat(temporary.resolve("images/layers")).isEmptyDirectory();
  }

  private void refused(String base, Recipe recipe, BuildOrder order, String why) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images(base).build(recipe, order, new Listener()))
        .withMessageContaining(why)
        .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);
  }

  @Test
  void interruptedBuildLeavesNothing() throws Exception {
    ImageFolder images = images(BASE);
    var inContainer = new CompletableFuture<Boolean>();
    var failure = new AtomicReference<Throwable>();
    Thread builder =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    images.build(TINY, BuildOrder.NEWEST, untilSources(inContainer));
                  } catch (Exception e) {
                    failure.set(e);
                  }
                });
    assertThat(inContainer.join()).isTrue();

    builder.interrupt();
    builder.join(Duration.ofSeconds(60));

    assertThat(failure.get()).isInstanceOf(InterruptedException.class);
    assertThat(DAEMON.client().list(BUILDS)).isEmpty();
  }

  @Test
  void nextServerRemovesWhatAKilledOneLeftAndNobodyElse() throws Exception {
    var task = new Workshop.Task(BASE, List.of("sleep", "1000"), Map.of());
    Workshop killed = workshop(runDirectory());
    Workshop.Bench _ = killed.open(task, line -> {});
    Path elsewhere = Files.createDirectory(temporary.resolve("elsewhere"));
    try (Workshop.Bench _ = workshop(elsewhere).open(task, line -> {})) {
      killed.sweep();
      assertThat(DAEMON.client().list(BUILDS)).as("a build that goes on").hasSize(2);

      new Builders(Builders.Choice.AUTO, null, List.of(workshop(runDirectory()))).sweep();

      assertThat(DAEMON.client().list(BUILDS)).as("another server's").hasSize(1);
    }
    assertThat(DAEMON.client().list(BUILDS)).isEmpty();
  }

  @Test
  void commandThatDoesNotEndIsGivenUp() throws Exception {
    var task = new Workshop.Task(BASE, List.of("sh", "-c", "echo begun; sleep 1000"), Map.of());
    var said = new CopyOnWriteArrayList<String>();

    try (Workshop.Bench bench = workshop(runDirectory()).open(task, line -> {})) {
      assertThatExceptionOfType(IOException.class)
          .isThrownBy(() -> bench.run(said::add, Duration.ofSeconds(5)))
          .withMessageContaining("did not end in");
    }

    assertThat(said).containsExactly("begun");
    Eventually.holds("it is gone", Duration.ofSeconds(20), this::nothingBuilds);
  }

  private boolean nothingBuilds() {
    try {
      return DAEMON.client().list(BUILDS).isEmpty();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Progress untilSources(CompletableFuture<Boolean> inContainer) {
    return new Listener() {
      @Override
      public void step(String what) {
        if (what.startsWith("asking the package sources")) {
          inContainer.complete(true);
        }
      }
    };
  }

  private ImageFolder images(String base) {
    return ImageFolder.open(
        temporary.resolve("images"),
        ImageLimits.defaults(),
        null,
        new Builders(
            Builders.Choice.DOCKER, Reference.parse(base), List.of(workshop(runDirectory()))));
  }

  private static Workshop workshop(Path run) {
    return new DockerWorkshopProvider()
        .create(
            new EngineSettings(
                run,
                run.resolve("volumes"),
                Path.of(System.getProperty("carrel.lib")),
                Set.of(),
                WarmSettings.defaults(),
                DAEMON.settings()));
  }

  private static ImageLock with(ImageLock lock, List<LockedPackage> packages) {
    return new ImageLock(
        lock.image(),
        lock.release(),
        lock.architecture(),
        lock.sourceDateEpoch(),
        null,
        null,
        packages);
  }

  /** Remembers what it is told. */
  private static class Listener implements Progress {
    private final List<String> steps = new CopyOnWriteArrayList<>();
    private final List<String> lines = new CopyOnWriteArrayList<>();

    @Override
    public void step(String what) {
      steps.add(what);
    }

    @Override
    public void at(long done, long total) {}

    @Override
    public void log(String line) {
      lines.add(line);
    }
  }
}
