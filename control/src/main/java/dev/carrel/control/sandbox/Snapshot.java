package dev.carrel.control.sandbox;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import dev.carrel.spi.VolumeId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The files of a sandbox as they were at one moment. Outlives the sandbox.
 *
 * @param rootfs {@code OVERLAY}: it holds what was changed of the root too, which means something
 *     on the same image only
 * @param name what its owner calls it; need not be unique
 * @param size of the disk that it is a copy of
 * @param usedBytes on the host's disk
 */
public record Snapshot(
    SnapshotId id,
    String tenant,
    SandboxId sandbox,
    VolumeId volume,
    String engine,
    String image,
    Rootfs rootfs,
    @Nullable String name,
    DataSize size,
    long usedBytes,
    Instant createdAt) {
  Snapshot withUsedBytes(long newUsedBytes) {
    return new Snapshot(
        id, tenant, sandbox, volume, engine, image, rootfs, name, size, newUsedBytes, createdAt);
  }
}
