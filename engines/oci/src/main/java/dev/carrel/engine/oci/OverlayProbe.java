package dev.carrel.engine.oci;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Finds out, once, whether machines can have a root that they may write to: by one that is made and
 * ended.
 */
final class OverlayProbe {
  private static final Limits SMALL =
      new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(16), 256);

  private final ReentrantLock probing = new ReentrantLock();

  /** Empty: there is none. */
  private @Nullable String problem;

  /**
   * Why they cannot; empty: they can.
   *
   * @param anyFolder what is written over
   */
  Optional<String> problem(Path anyFolder, Volumes volumes, Function<MachineSpec, Machine> start) {
    probing.lock();
    try {
      String measured = problem;
      if (measured == null) {
        measured = look(anyFolder, volumes, start);
        problem = measured;
      }
      return Optional.of(measured).filter(text -> !text.isEmpty());
    } finally {
      probing.unlock();
    }
  }

  private static String look(
      Path anyFolder, Volumes volumes, Function<MachineSpec, Machine> start) {
    VolumeId volume = VolumeId.random();
    var image = new RootImage.Folder(anyFolder);
    try {
      start.apply(new MachineSpec(image, SMALL, null, volume, false, Rootfs.OVERLAY)).destroy();
      return "";
    } catch (SandboxException e) {
      return e.message();
    } finally {
      volumes.remove(volume);
    }
  }
}
