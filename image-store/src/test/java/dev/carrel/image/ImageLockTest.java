package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an image was built of: as somebody may have written it who means us harm. */
class ImageLockTest {
  private static final Digest ROOT = new Digest("ab".repeat(32));
  private static final LockedPackage BASH = LockedPackage.parse("bash:arm64=5.2.15-2+b7");
  private static final LockedPackage PERL = LockedPackage.parse("perl-base:arm64=1:5.36.0~rc-7");

  @TempDir private Path temporary;

  @Test
  void packagesAreInOrderAndNothingElseIsLeftToApt() {
    ImageLock lock = lock(List.of(PERL, BASH));

    assertThat(lock.packages()).isEqualTo(List.of(BASH, PERL));
    assertThat(lock.preferences())
        .isEqualTo(
            """
            Package: *
            Pin: release *
            Pin-Priority: -1

            Package: bash
            Pin: version 5.2.15-2+b7
            Pin-Priority: 1001

            Package: perl-base
            Pin: version 1:5.36.0~rc-7
            Pin-Priority: 1001
            """);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bash",
        "bash=5",
        "bash:arm64=",
        "Bash:arm64=5",
        "-o:arm64=5",
        "bash:arm64=5 6",
        "bash:arm64=5\nPin: release *",
        "bash:arm64=*",
        "bash:arm64=/5/",
        "bash:../..=5",
        "$(id):arm64=5"
      })
  void whatIsNoPackageIsRefused(String text) {
    refused(() -> LockedPackage.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "mirror.example/debian",
        "file:///srv/debian",
        "https://mirror.example/debian [trusted=yes]",
        "https://mirror.example/debian\ndeb https://other.example/",
        "[trusted=yes] https://mirror.example",
        "https://mirror.example/{other}/x"
      })
  void whatIsNoSnapshotIsRefused(String address) {
    refused(() -> new Snapshot(address));
  }

  @Test
  void locksAreBounded() {
    refused(() -> lock(List.of()));
    refused(() -> lock(List.of(BASH, BASH)));
    refused(() -> lock(Collections.nCopies(ImageLock.MAX_PACKAGES + 1, BASH)));
    refused(() -> new ImageLock("x/../y", "bookworm", "arm64", 1, null, null, List.of(BASH)));
    refused(() -> new ImageLock("x", "book worm", "arm64", 1, null, null, List.of(BASH)));
    refused(() -> new ImageLock("x", "bookworm", "arm64", -1, null, null, List.of(BASH)));
    refused(() -> new ImageLock("x", "bookworm", "", 1, null, null, List.of(BASH)));
  }

  @Test
  void snapshotTakesThePlaceOfEachSourceAndSignaturesStillCount() {
    var sources =
        new AptSources(
            "bookworm",
            List.of(
                "deb [signed-by=/k.gpg] http://one.example/debian bookworm main contrib",
                "deb http://one.example/debian-security/ bookworm-security main"));

    assertThat(sources.at(new Snapshot("https://old.example/a/{archive}/20250520")).lines())
        .isEqualTo(
            List.of(
                "deb [signed-by=/k.gpg check-valid-until=no] https://old.example/a/debian/20250520"
                    + " bookworm main contrib",
                "deb [check-valid-until=no] https://old.example/a/debian-security/20250520"
                    + " bookworm-security main"));
  }

  @Test
  void locksAreKeptAsLongAsTheirRoots() throws Exception {
    Path folder = Files.createDirectory(temporary.resolve("locks"));
    var locks = new Locks(folder, Files.createDirectory(temporary.resolve("unfinished")));
    var snapshot = new Snapshot("https://old.example/{archive}/20250520");
    var lock = new ImageLock("tiny", "bookworm", "arm64", 1, snapshot, ROOT, List.of(BASH, PERL));

    locks.put(ROOT, lock);

    assertThat(locks.find(ROOT)).contains(lock);
    locks.keep(Set.of(ROOT));
    assertThat(locks.find(ROOT)).isPresent();
    locks.keep(Set.of());
    assertThat(locks.find(ROOT)).isEmpty();
  }

  @Test
  void onlyWhatIsInstalledCounts() throws Exception {
    Path dpkg = Files.createDirectories(temporary.resolve("var/lib/dpkg"));
    Files.writeString(
        dpkg.resolve("status"),
        """
        Package: perl-base
        Status: install ok installed
        Architecture: arm64
        Version: 1:5.36.0~rc-7
        Description: a language
         Package: not-this

        Package: gone
        Status: deinstall ok config-files
        Architecture: all
        Version: 1

        Package: bash
        Status: install ok installed
        Version: 5.2.15-2+b7
        Architecture: arm64
        """);

    assertThat(InstalledPackages.in(temporary)).isEqualTo(List.of(BASH, PERL));
  }

  private static ImageLock lock(List<LockedPackage> packages) {
    return new ImageLock("tiny", "bookworm", "arm64", 1, null, null, packages);
  }

  private static void refused(Runnable making) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(making::run)
        .matches(e -> e.code() == ErrorCode.INVALID_INPUT);
  }
}
