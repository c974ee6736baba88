package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Exactly what an image was built of, so that it can be built again.
 *
 * @param image name in the catalog
 * @param release codename of the distribution's release
 * @param architecture as Debian names it, which is as registries do for those that we have
 * @param sourceDateEpoch seconds; no file of the image is newer
 * @param snapshot where its packages came from; null: the host's own sources
 * @param digest of the image; null in a lock that somebody wrote by hand
 * @param packages all that are installed, in order
 */
public record ImageLock(
    String image,
    String release,
    String architecture,
    long sourceDateEpoch,
    @Nullable Snapshot snapshot,
    @Nullable Digest digest,
    List<LockedPackage> packages) {
  public static final int MAX_PACKAGES = 10_000;
  // The last second that a tar's header can say.
  public static final long MAX_EPOCH = 0x1_ffff_ffffL;
  private static final Pattern WORD = Pattern.compile("[a-z0-9][a-z0-9-]{0,63}");

  public ImageLock {
    check("lock.image", image);
    check("lock.release", release);
    check("lock.architecture", architecture);
    if (sourceDateEpoch < 0 || sourceDateEpoch > MAX_EPOCH) {
      throw SandboxException.invalid(
          "lock.source_date_epoch", "must be seconds between 0 and " + MAX_EPOCH);
    }
    if (packages.isEmpty() || packages.size() > MAX_PACKAGES) {
      throw SandboxException.invalid(
          "lock.packages", "must be between 1 and " + MAX_PACKAGES + " packages");
    }
    var names = new TreeSet<String>();
    for (LockedPackage one : packages) {
      if (!names.add(one.name())) {
        throw SandboxException.invalid("lock.packages", "has " + one.name() + " twice");
      }
    }
    packages = packages.stream().sorted().toList();
  }

  /**
   * Throws unless it is good for this release and this host's architecture.
   *
   * @param whose what has the release
   */
  void requireFor(String itsRelease, String whose) {
    require("release", release, itsRelease, whose);
    require("architecture", architecture, Platform.host().architecture(), "this host");
  }

  private static void require(String field, String locked, String found, String whose) {
    if (!locked.equals(found)) {
      throw SandboxException.invalid(
              "lock." + field, "the lock is for %s, and %s is %s".formatted(locked, whose, found))
          .withHint("a lock is good for one release and one architecture");
    }
  }

  /** The same, with the image that came of it. */
  ImageLock of(Digest made) {
    return new ImageLock(image, release, architecture, sourceDateEpoch, snapshot, made, packages);
  }

  /** What apt reads: these versions, also when there are newer ones, and nothing else at all. */
  String preferences() {
    var text = new StringBuilder("Package: *\nPin: release *\nPin-Priority: -1\n");
    for (LockedPackage one : packages) {
      text.append("\nPackage: ").append(one.name());
      text.append("\nPin: version ").append(one.version()).append("\nPin-Priority: 1001\n");
    }
    return text.toString();
  }

  private static void check(String field, String word) {
    if (!WORD.matcher(word).matches()) {
      throw SandboxException.invalid(
          field, "must be a word of small letters, and is " + Text.printable(word, 80));
    }
  }
}
