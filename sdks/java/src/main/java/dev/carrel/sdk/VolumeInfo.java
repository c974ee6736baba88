package dev.carrel.sdk;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A volume that outlives the sandboxes which use it.
 *
 * @param sandboxId who uses it now; null: nobody
 * @param usedBytes on the host's disk
 */
public record VolumeInfo(
    String id,
    String name,
    String engine,
    @Nullable String sandboxId,
    long sizeMb,
    long usedBytes,
    Instant createdAt,
    Instant usedAt) {}
