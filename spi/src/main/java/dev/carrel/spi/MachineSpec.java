package dev.carrel.spi;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What an engine needs to start one machine.
 *
 * @param egressSocket host socket of this sandbox's proxy; the guest relays 127.0.0.1:3128 to it.
 *     Null: no way out at all
 * @param volume what to use as /workspace; made, as large as {@link Limits#disk}, when it does not
 *     exist. Null: files are in memory and end with the machine
 * @param isolated nothing but its own guest ever starts a process in it: no {@link Machine#fork}
 */
public record MachineSpec(
    RootImage image,
    Limits limits,
    @Nullable Path egressSocket,
    @Nullable VolumeId volume,
    boolean isolated) {
  public MachineSpec(
      RootImage image, Limits limits, @Nullable Path egressSocket, @Nullable VolumeId volume) {
    this(image, limits, egressSocket, volume, false);
  }
}
