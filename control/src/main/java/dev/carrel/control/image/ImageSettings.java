package dev.carrel.control.image;

import dev.carrel.image.Builders;
import dev.carrel.image.ImageLimits;
import dev.carrel.image.Reference;
import dev.carrel.image.Snapshot;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How images are got and kept.
 *
 * @param authFile who we are to registries, in the form of Docker's {@code config.json}; null:
 *     nobody
 * @param maxJobs images that are got or built at a time
 * @param snapshot where builds take packages from; null: the host's own sources
 * @param builder what builds are made with
 * @param buildBase what builds in containers begin with; null: the image of the host's own release
 */
public record ImageSettings(
    ImageLimits limits,
    @Nullable Path authFile,
    int maxJobs,
    @Nullable Snapshot snapshot,
    Builders.Choice builder,
    @Nullable Reference buildBase) {
  public static ImageSettings defaults() {
    return new ImageSettings(ImageLimits.defaults(), null, 2, null, Builders.Choice.AUTO, null);
  }
}
