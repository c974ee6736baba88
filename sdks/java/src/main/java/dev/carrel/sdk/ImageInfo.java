package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Something that sandboxes start on.
 *
 * @param source {@code host}, {@code folder}, {@code catalog}, {@code registry}, {@code archive} or
 *     {@code sandbox}
 * @param origin what it was made from
 * @param status of the last attempt to get it; one that failed leaves what was there
 * @param digest of its root; null when the server does not keep its files
 * @param sizeBytes of the files that a sandbox sees
 * @param engines that can start a sandbox on it now
 * @param failure why the last attempt failed
 */
public record ImageInfo(
    String name,
    String source,
    String origin,
    String status,
    @Nullable String digest,
    long sizeBytes,
    List<String> languages,
    List<String> engines,
    boolean usable,
    @Nullable String failure,
    @Nullable Instant updatedAt) {}
