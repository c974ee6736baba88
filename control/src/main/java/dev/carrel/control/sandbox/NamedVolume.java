package dev.carrel.control.sandbox;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A volume that its tenant gave a name, and that outlives the sandboxes which use it.
 *
 * @param sandbox who uses it now; null: nobody
 * @param usedBytes on the host's disk
 */
public record NamedVolume(
    VolumeId id,
    String tenant,
    String engine,
    String name,
    @Nullable SandboxId sandbox,
    DataSize size,
    long usedBytes,
    Instant createdAt,
    Instant usedAt) {
  NamedVolume withUsedBytes(long newUsedBytes) {
    return new NamedVolume(
        id, tenant, engine, name, sandbox, size, newUsedBytes, createdAt, usedAt);
  }
}
