package dev.carrel.image;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** What survives a power failure. Safe for many threads. */
interface Disk {
  /**
   * The host's own, by its program {@code sync}: the call behind it can take long, and one of ours
   * would hold a thread of all others meanwhile. The whole file system at once is cheaper than a
   * layer's thousands of files one by one.
   */
  Disk HOST = Disk::sync;

  /** Returns when everything that was written to the file system of this path is on the disk. */
  void settle(Path path) throws IOException;

  private static void sync(Path path) throws IOException {
    Process process =
        new ProcessBuilder("sync", "-f", path.toString()).redirectErrorStream(true).start();
    try {
      if (process.waitFor() != 0) {
        byte[] said = process.getInputStream().readAllBytes();
        throw new IOException(
            "the disk does not take it: " + new String(said, StandardCharsets.UTF_8).strip());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while the disk was written");
    } finally {
      process.destroy();
    }
  }
}
