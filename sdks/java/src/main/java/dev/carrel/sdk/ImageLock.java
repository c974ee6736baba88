package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Exactly what an image was built of, so that it can be built again.
 *
 * @param image name in the catalog
 * @param release codename of the distribution's release
 * @param architecture such as {@code arm64}
 * @param sourceDateEpoch seconds; no file of the image is newer
 * @param snapshot where its packages came from; null: the host's own sources
 * @param digest of the image that came of it
 * @param packages all that are installed, such as {@code adduser:all=3.134}
 */
public record ImageLock(
    String image,
    String release,
    String architecture,
    long sourceDateEpoch,
    @Nullable String snapshot,
    @Nullable String digest,
    List<String> packages) {}
