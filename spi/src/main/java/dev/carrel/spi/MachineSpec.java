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
 * @param rootfs what it may do with its root; {@code OVERLAY} needs a volume, which then holds the
 *     changes beside /workspace, and an image that is a folder
 */
public record MachineSpec(
    RootImage image,
    Limits limits,
    @Nullable Path egressSocket,
    @Nullable VolumeId volume,
    boolean isolated,
    Rootfs rootfs) {
  public MachineSpec(
      RootImage image, Limits limits, @Nullable Path egressSocket, @Nullable VolumeId volume) {
    this(image, limits, egressSocket, volume, false, Rootfs.READ_ONLY);
  }

  /** For an engine whose machines cannot write to their root. */
  public void requireReadOnlyRoot(Engine engine) {
    if (rootfs != Rootfs.READ_ONLY) {
      throw new SandboxException(
          ErrorCode.NOT_SUPPORTED,
          engine.overlayProblem().orElse("this engine has no writable root"));
    }
  }
}
