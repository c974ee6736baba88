package dev.carrel.engine.host;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import dev.carrel.spi.MachineSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Limits that can be in force together, and what they leave for files in memory. */
public final class Settled {
  private static final int BLOCK = 8192;

  private Settled() {}

  /** What can be in force together: files in memory stay below the memory limit. */
  public static Limits limits(MachineSpec spec) throws IOException {
    Limits limits = spec.limits();
    long most = limits.memory().bytes() / 4 * 3;
    Limits settled =
        spec.volume() == null && limits.disk().bytes() > most
            ? withDisk(limits, new DataSize(most))
            : limits;
    int files = (int) Math.min(settled.openFiles(), hardOpenFiles());
    return new Limits(settled.memory(), settled.cpus(), settled.pids(), settled.disk(), files);
  }

  public static Limits withDisk(Limits limits, DataSize disk) {
    return new Limits(limits.memory(), limits.cpus(), limits.pids(), disk, limits.openFiles());
  }

  /** For /tmp: what is in memory stays together at 7/8 of the memory limit. */
  public static long temporary(Limits limits, boolean onVolume) {
    return rest(limits, onVolume) / 3 * 2;
  }

  /** For /dev/shm. */
  public static long shared(Limits limits, boolean onVolume) {
    return rest(limits, onVolume) / 3;
  }

  private static long rest(Limits limits, boolean onVolume) {
    return limits.memory().bytes() / 8 * 7 - (onVolume ? 0 : limits.disk().bytes());
  }

  /** An inode costs about a kilobyte that no size counts: one for each 8 KiB. */
  public static long inodes(long bytes) {
    return bytes / BLOCK + 256;
  }

  /** The number of open files that nobody here can go beyond. */
  private static long hardOpenFiles() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/limits")).stream()
        .filter(line -> line.startsWith("Max open files"))
        .map(line -> line.split("\\s{2,}", -1)[2])
        .mapToLong(text -> text.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(text))
        .findFirst()
        .orElse(Long.MAX_VALUE);
  }
}
