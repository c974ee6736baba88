package dev.carrel.spi;

/**
 * What a sandbox may use. Memory is without swap; {@code disk} bounds /workspace.
 *
 * @param cpus cores' worth of time, for example 0.5
 * @param pids processes and threads together
 * @param openFiles descriptors of one process
 */
public record Limits(DataSize memory, double cpus, int pids, DataSize disk, int openFiles) {
  public static final DataSize MIN_MEMORY = DataSize.ofMebibytes(16);

  public Limits {
    if (memory.compareTo(MIN_MEMORY) < 0) {
      throw SandboxException.invalid("memory_mb", "must be at least " + MIN_MEMORY.mebibytes());
    }
    if (!(cpus >= 0.01 && cpus <= 1024)) {
      throw SandboxException.invalid("cpu_cores", "must be between 0.01 and 1024");
    }
    if (pids < 8 || pids > 1 << 20) {
      throw SandboxException.invalid("pids", "must be between 8 and 1048576");
    }
    if (disk.compareTo(DataSize.ofMebibytes(1)) < 0) {
      throw SandboxException.invalid("disk_mb", "must be at least 1");
    }
    if (openFiles < 64 || openFiles > 1 << 20) {
      throw SandboxException.invalid("open_files", "must be between 64 and 1048576");
    }
  }
}
