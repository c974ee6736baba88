package dev.carrel.engine.host;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Which ids of this host a machine has. One folder per host says who holds which range, in links to
 * the machines' folders, so that two servers never give the same ids out; a link that leads nowhere
 * is free.
 */
public final class IdRanges {
  public static final int RANGE = 65_536;

  /** Above what the engine {@code native} gives out. */
  private static final int BASE = 0x6000_0000;

  private static final IdRanges HOST = new IdRanges(Path.of("/run/carrel-ids"), 8191);

  /** A lock on a file is that of the whole process. */
  private static final ReentrantLock TURN = new ReentrantLock();

  private final Path registry;
  private final int slots;

  IdRanges(Path registry, int slots) {
    this.registry = registry;
    this.slots = slots;
  }

  /** The first id of a range that is nobody else's until it is released or the folder is gone. */
  public static int claim(Path machineFolder) throws IOException {
    return HOST.take(machineFolder);
  }

  /**
   * Gives a range back that nobody uses any more, unless it is another's by now. Before the folder
   * is removed: from then on it may become another's at any moment.
   */
  public static void release(int base, Path machineFolder) throws IOException {
    HOST.giveBack(base, machineFolder);
  }

  /** Alone, so that of two who find the same link leading nowhere one has it. */
  int take(Path machineFolder) throws IOException {
    Files.createDirectories(
        registry,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    TURN.lock();
    try (FileChannel file =
            FileChannel.open(
                registry.resolve("oci.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock _ = file.lock()) {
      return takeFree(machineFolder);
    } finally {
      TURN.unlock();
    }
  }

  private int takeFree(Path machineFolder) throws IOException {
    int start = ThreadLocalRandom.current().nextInt(slots);
    for (int i = 0; i < slots; i++) {
      int slot = (start + i) % slots;
      Path link = link(slot);
      if (takes(link, machineFolder)) {
        return BASE + slot * RANGE;
      }
      if (stale(link) && Files.deleteIfExists(link) && takes(link, machineFolder)) {
        return BASE + slot * RANGE;
      }
    }
    throw new IOException("all " + slots + " ranges of ids are in use");
  }

  void giveBack(int base, Path machineFolder) throws IOException {
    Path link = link((base - BASE) / RANGE);
    if (Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(machineFolder)) {
      Files.deleteIfExists(link);
    }
  }

  private Path link(int slot) {
    return registry.resolve("oci-" + slot);
  }

  private static boolean takes(Path link, Path owner) throws IOException {
    try {
      Files.createSymbolicLink(link, owner);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  private static boolean stale(Path link) throws IOException {
    return Files.isSymbolicLink(link)
        && Files.notExists(Files.readSymbolicLink(link), LinkOption.NOFOLLOW_LINKS);
  }
}
