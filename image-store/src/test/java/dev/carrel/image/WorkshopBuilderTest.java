package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.Builders.Choice;
import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Builds in a container that is only played, of what it may say and send. */
class WorkshopBuilderTest {
  private static final Recipe TINY = new Recipe("tiny", "", List.of("bash"), null);
  private static final String STATUS =
      """
      Package: bash
      Status: install ok installed
      Architecture: amd64
      Version: 5.2

      """;

  @TempDir private Path temporary;

  @Test
  void baseOfAnotherReleaseHasItsOwnSources() throws Exception {
    var said = new Listener();
    var workshop = new FakeWorkshop(base("far-away"), root(), 0);
    var order = new BuildOrder(new Snapshot("http://snapshot.example/{archive}/1"), null);

    Stored stored = images(workshop).build(TINY, order, said);

    assertThat(said.lines())
        .contains(
            "packages of far-away come from the sources of the base image",
            "deb [check-valid-until=no] http://snapshot.example/debian/1 far-away main")
        .noneMatch(line -> line.contains("elsewhere"));
    assertThat(said.steps()).contains("a step", "taking the files out of the container");
    ImageLock lock = images(workshop).lock(stored.root()).orElseThrow();
    assertThat(lock.release()).isEqualTo("far-away");
    assertThat(lock.packages()).containsExactly(LockedPackage.parse("bash:amd64=5.2"));
    assertThat(workshop.open()).isZero();
  }

  @Test
  void exportThatBrokeOffIsNoImage() throws Exception {
    byte[] whole = root();

    // Between two entries, where a reader would take it for the end.
    refused(new FakeWorkshop(base("far-away"), Arrays.copyOf(whole, whole.length - 1024), 0))
        .withMessageContaining("the archive broke off");
    refused(new FakeWorkshop(base("far-away"), new byte[0], 0))
        .withMessageContaining("the archive broke off");
    assertThat(temporary.resolve("layers")).isEmptyDirectory();
  }

  @Test
  void statusOfTheScriptCounts() throws Exception {
    refused(new FakeWorkshop(base("far-away"), root(), 3)).withMessageContaining("status 3");
    assertThat(temporary.resolve("layers")).isEmptyDirectory();
  }

  @Test
  void whatIsNoDebianIsRefusedBeforeItRuns() throws Exception {
    refused(new FakeWorkshop(Map.of(), root(), 0)).withMessageContaining("image.build-base");
    byte[] linked = new TarBytes().symlink("apt/sources.list", "/etc/apt/sources.list").bytes();
    refused(
            new FakeWorkshop(
                Map.of("/usr/lib/os-release", release("far-away"), "/etc/apt", linked), root(), 0))
        .withMessageContaining("is no Debian or Ubuntu to build on");
  }

  @Test
  void lockIsForTheReleaseOfTheBase() throws Exception {
    var lock =
        new ImageLock(
            "tiny",
            "near",
            Platform.host().architecture(),
            1,
            null,
            null,
            List.of(LockedPackage.parse("bash:amd64=5.2")));
    var workshop = new FakeWorkshop(base("far-away"), root(), 0);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images(workshop).build(TINY, new BuildOrder(null, lock), new Listener()))
        .withMessageContaining("the lock is for near, and the base image base:1 is far-away");
    assertThat(workshop.open()).isZero();
  }

  private ThrowableAssertAlternative<SandboxException> refused(FakeWorkshop workshop) {
    var refused =
        assertThatExceptionOfType(SandboxException.class)
            .isThrownBy(() -> images(workshop).build(TINY, BuildOrder.NEWEST, new Listener()))
            .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);
    assertThat(workshop.open()).isZero();
    return refused;
  }

  private ImageFolder images(FakeWorkshop workshop) {
    return ImageFolder.open(
        temporary,
        ImageLimits.defaults(),
        null,
        new Builders(Choice.DOCKER, Reference.parse("base:1"), List.of(workshop)));
  }

  private static Map<String, byte[]> base(String codename) throws Exception {
    byte[] apt =
        new TarBytes()
            .folder("apt")
            .file(
                "apt/sources.list",
                "deb http://mirror.example/debian %s main\ndeb http://elsewhere.example x main\n"
                    .formatted(codename))
            .bytes();
    return Map.of("/usr/lib/os-release", release(codename), "/etc/apt", apt);
  }

  private static byte[] release(String codename) throws Exception {
    return new TarBytes().file("os-release", "VERSION_CODENAME=" + codename + "\n").bytes();
  }

  private static byte[] root() throws Exception {
    return new TarBytes()
        .folder("var")
        .folder("var/lib")
        .folder("var/lib/dpkg")
        .file("var/lib/dpkg/status", STATUS)
        .bytes();
  }
}
