package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A root built from packages with mmdebstrap, as small as there is one. */
@Timeout(900)
final class DebianBuildIT {
  private static final Recipe TINY = new Recipe("tiny", "", List.of("bash"), null);

  @TempDir private Path temporary;

  @Test
  void packagesBecomeARootAndItsLockTheSameRoot() throws Exception {
    ImageFolder images = ImageFolder.open(temporary, ImageLimits.defaults(), null);
    var said = new Listener();

    Stored stored = images.build(TINY, BuildOrder.NEWEST, said);

    Path root = images.root(stored.root());
    assertThat(stored.languages()).containsExactly(Language.BASH);
    assertThat(root.resolve("etc/passwd")).content().contains("carrel:x:1000:1000");
    assertThat(root.resolve("usr/share/man")).isEmptyDirectory();
    assertThat(said.lines())
        .as("the versions of its packages are in the log")
        .anyMatch(line -> line.startsWith("bash\t"));
    assertThat(said.steps()).contains("putting layers together");
    ImageLock lock = images.lock(stored.root()).orElseThrow();
    assertThat(lock.digest()).isEqualTo(stored.root());
    assertThat(lock.packages()).extracting(LockedPackage::name).contains("bash", "libc6", "apt");
    buildsTheSame(images, lock);
    refusesWhatIsGone(images, lock);
    asksTheSnapshot(images);
    refusesOtherReleases(images, lock);
    images.sweep(Set.of(), Set.of());
    assertThat(temporary.resolve("locks")).isEmptyDirectory();
    assertThat(temporary.resolve("unfinished")).isEmptyDirectory();
  }

  private void buildsTheSame(ImageFolder images, ImageLock lock) throws Exception {
    // Nothing of the first build is there any more, so nothing of it is taken for the second.
    images.sweep(Set.of(), Set.of());
    var said = new Listener();

    Stored again = images.build(TINY, new BuildOrder(null, lock), said);

    assertThat(again.root()).isEqualTo(lock.digest());
    assertThat(said.steps()).contains("the image is the lock's, byte for byte");
    assertThat(images.lock(again.root())).contains(lock);
    assertThat(images.root(again.root()).resolve("etc/apt/preferences.d")).isEmptyDirectory();
  }

  private static void refusesWhatIsGone(ImageFolder images, ImageLock lock) {
    List<LockedPackage> packages =
        lock.packages().stream()
            .map(
                one ->
                    one.name().equals("bash")
                        ? new LockedPackage("bash", one.architecture(), "0.1-gone")
                        : one)
            .toList();

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images.build(TINY, new BuildOrder(null, with(lock, packages)), said()))
        .withMessageContaining("do not have 1 of the versions that the lock names: bash 0.1-gone")
        .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);
  }

  /** Nobody listens there: what is not asked there is not what the order says. */
  private static void asksTheSnapshot(ImageFolder images) {
    var nowhere = new Snapshot("http://127.0.0.1:1/{archive}/20250520");

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images.build(TINY, new BuildOrder(nowhere, null), said()))
        .withMessageContaining("the build failed")
        .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);
  }

  private static void refusesOtherReleases(ImageFolder images, ImageLock lock) {
    var other = new ImageLock("tiny", "other", "any", 1, null, null, lock.packages());

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images.build(TINY, new BuildOrder(null, other), said()))
        .withMessageContaining("lock.release");
  }

  private static Listener said() {
    return new Listener();
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
}
