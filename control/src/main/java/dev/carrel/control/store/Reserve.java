package dev.carrel.control.store;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Random;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Room on the disk that is kept for the day on which it is full: to remove something takes a few
 * rows, so do the last words of a server, and to start one takes a few files. It is filled again
 * when there is room.
 */
public final class Reserve {
  private static final Logger LOG = LoggerFactory.getLogger(Reserve.class);
  // How many files may be given up for it.
  private static final ScopedValue<Integer> ENTITLED = ScopedValue.newInstance();
  // Several: a file system can also run out of files.
  private static final int FILES = 16;
  // Little is written then, and whoever fills the disk would have the rest before the next start.
  private static final int FOR_LAST_WORDS = 4;
  private static final int FILE_SIZE = 256 << 10;
  // With less than that the disk is as good as full, and we had better not be who fills it.
  private static final long PLENTY = 8L * FILES * FILE_SIZE;

  private final Path folder;
  private boolean full;

  Reserve(Path folder) {
    this.folder = folder;
  }

  /** Runs what gives room back. When there is none to write that down with, the reserve is used. */
  public static void forRemoval(Runnable work) {
    ScopedValue.where(ENTITLED, FILES).run(work);
  }

  /**
   * Runs what a server writes before it ends and nobody could write later. It has a part of the
   * reserve, and leaves to the next start what that needs.
   */
  static void forLastWords(Runnable work) {
    ScopedValue.where(ENTITLED, FOR_LAST_WORDS).run(work);
  }

  /** The same, with a result. */
  public static <T> T ofRemoval(Supplier<T> work) {
    return ScopedValue.where(ENTITLED, FILES).call(work::get);
  }

  /** Whether there is room now for what failed so. */
  boolean helps(RuntimeException failure) {
    return failure instanceof SandboxException told
        && told.code() == ErrorCode.NO_SPACE
        && ENTITLED.isBound()
        && release(FILES - ENTITLED.get(), FILES);
  }

  /** Gives half of it up, for a server's own files, when not even one of its size can be made. */
  synchronized void releaseIfDiskIsFull() {
    if (!Files.isDirectory(folder)) {
      return;
    }
    Path probe = folder.resolve("probe");
    try {
      make(probe);
    } catch (IOException e) {
      release(0, FILES / 2);
    }
    discard(probe);
  }

  synchronized void fill() {
    if (full) {
      return;
    }
    try {
      if (!Files.isDirectory(folder)) {
        Files.createDirectory(
            folder,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      }
      for (int i = 0; i < FILES; i++) {
        Path file = file(i);
        if (!Files.exists(file)) {
          if (folder.toFile().getUsableSpace() < PLENTY) {
            return;
          }
          make(file);
        }
      }
      full = true;
    } catch (IOException e) {
      LOG.debug("the reserve of the disk cannot be filled: {}", e.toString());
    }
  }

  private static void make(Path file) throws IOException {
    var bytes = new byte[FILE_SIZE];
    // What can be packed would keep less room than it seems to.
    new Random().nextBytes(bytes);
    try {
      Files.write(file, bytes);
    } catch (IOException e) {
      discard(file);
      throw e;
    }
  }

  private synchronized boolean release(int from, int to) {
    full = false;
    boolean any = false;
    for (int i = from; i < to; i++) {
      any |= discard(file(i));
    }
    if (any) {
      LOG.warn(
          "the disk is full: what is kept in {} for that is used; free space, then it is made again",
          folder);
    }
    return any;
  }

  private static boolean discard(Path file) {
    try {
      return Files.deleteIfExists(file);
    } catch (IOException e) {
      return false;
    }
  }

  private Path file(int index) {
    return folder.resolve("room-" + index);
  }
}
