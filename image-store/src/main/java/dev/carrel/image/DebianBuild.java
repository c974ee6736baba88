package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.TreeSet;

/** Builds a root from packages with whatever this host has for it. */
final class DebianBuild {
  private final Layers layers;
  private final Path unfinished;
  private final Builders builders;

  DebianBuild(Layers layers, Path unfinished, Builders builders) {
    this.layers = layers;
    this.unfinished = unfinished;
    this.builders = builders;
  }

  Built build(Recipe recipe, BuildOrder order, Progress progress)
      throws IOException, InterruptedException {
    ImageLock lock = order.lock();
    long epoch = lock == null ? Instant.now().getEpochSecond() : lock.sourceDateEpoch();
    RootBuilder builder = builders.choose();
    Path files = Files.createTempDirectory(unfinished, "build");
    try {
      progress.step(
          "installing %d packages and what they need, with %s"
              .formatted(recipe.packages().size(), builder.name()));
      RootBuilder.Made made =
          builder.make(new RootBuilder.Job(recipe, order, epoch, layers, files, progress));
      List<LockedPackage> installed = InstalledPackages.in(layers.files(made.layer()));
      if (lock != null) {
        requireSame(lock.packages(), installed);
      }
      return new Built(
          made.layer(),
          new ImageLock(
              recipe.name(),
              made.release(),
              Platform.host().architecture(),
              epoch,
              order.snapshotOf(recipe),
              null,
              installed));
    } finally {
      Folder.delete(files);
    }
  }

  private static void requireSame(List<LockedPackage> locked, List<LockedPackage> installed) {
    var absent = new TreeSet<>(locked);
    installed.forEach(absent::remove);
    var further = new TreeSet<>(installed);
    locked.forEach(further::remove);
    if (!absent.isEmpty() || !further.isEmpty()) {
      throw new SandboxException(
              ErrorCode.IMAGE_SOURCE_FAILED,
              "the build is not what the lock says: it lacks [%s] and has [%s] instead"
                  .formatted(BuildOutput.some(absent), BuildOutput.some(further)))
          .withHint("the recipe may have changed: build without the lock for a new one");
    }
  }

  /**
   * What came of it.
   *
   * @param lock without the digest of the image, which is not put together yet
   */
  record Built(Digest layer, ImageLock lock) {}
}
