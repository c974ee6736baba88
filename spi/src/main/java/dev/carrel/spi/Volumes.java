package dev.carrel.spi;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The volumes of one engine: files that outlive the machine which has them as its /workspace. A
 * volume is in use by one machine at a time. Safe for many threads.
 */
public interface Volumes {
  /**
   * Makes {@code to} with the files of {@code from}, copy-on-write where the host's file system
   * can. A volume in use is copied as it is at one moment; whoever writes to it waits meanwhile.
   * Leaves no {@code to} behind when it throws.
   */
  void copy(VolumeId from, VolumeId to);

  /** Removes what is there of it; does nothing when there is nothing. */
  void remove(VolumeId id);

  /**
   * Lends what a machine with {@link Rootfs#OVERLAY} changed of its root: a folder as overlayfs
   * writes its upper layer, to be read for the time of the call. No machine has the volume
   * meanwhile. The files are hostile.
   */
  default <T> T readChanges(VolumeId id, ChangesReader<T> reader)
      throws IOException, InterruptedException {
    throw new SandboxException(ErrorCode.NOT_SUPPORTED, "these volumes hold no writable roots");
  }

  /** What is done with changes that are lent. */
  interface ChangesReader<T> {
    T read(Path upper) throws IOException, InterruptedException;
  }

  /** All that exist, in use or not, whoever made them. */
  List<VolumeId> list();

  /** Bytes that it takes on the host's disk. */
  long usedBytes(VolumeId id);
}
