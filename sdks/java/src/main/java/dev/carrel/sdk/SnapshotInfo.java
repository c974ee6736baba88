package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The files of a sandbox as they were at one moment.
 *
 * @param sandboxId where it is from; that sandbox may be gone
 * @param sizeMb of the disk that it is a copy of
 * @param usedBytes on the host's disk
 */
public record SnapshotInfo(
    String id,
    String sandboxId,
    @Nullable String name,
    String image,
    String engine,
    long sizeMb,
    long usedBytes,
    Instant createdAt) {}
