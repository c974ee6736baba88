package dev.carrel.spi;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What an engine needs to start one machine.
 *
 * @param egressSocket host socket of this sandbox's proxy, which the guest relays a port of its
 *     loopback to. It is alone in its folder: a machine sees that folder, so that a socket bound
 *     there later serves it too. Folder and socket are open to all users; what keeps others out is
 *     the folder above. Null: no way out at all
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
