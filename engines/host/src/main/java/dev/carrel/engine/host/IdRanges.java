package dev.carrel.engine.host;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Which ids of this host a machine has. One folder per host says who holds which range, in links to
 * the machines' folders, so that two servers never give the same ids out; a link that leads nowhere
 * is free.
 */
public final class IdRanges {
  public static final int RANGE = 65_536;

  /** Above what the engine {@code native} gives out. */
  private static final int BASE = 0x6000_0000;

  private static final int SLOTS = 8191;
  private static final Path REGISTRY = Path.of("/run/carrel-ids");

  private IdRanges() {}

  /** The first id of a range that is nobody else's as long as the folder exists. */
  public static int claim(Path machineFolder) throws IOException {
    if (!Files.isDirectory(REGISTRY)) {
      Files.createDirectories(
          REGISTRY,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
    int start = ThreadLocalRandom.current().nextInt(SLOTS);
    for (int i = 0; i < SLOTS; i++) {
      int slot = (start + i) % SLOTS;
      Path link = link(slot);
      if (takes(link, machineFolder)) {
        return BASE + slot * RANGE;
      }
      if (stale(link) && Files.deleteIfExists(link) && takes(link, machineFolder)) {
        return BASE + slot * RANGE;
      }
    }
    throw new IOException("all " + SLOTS + " ranges of ids are in use");
  }

  public static void release(int base) throws IOException {
    Files.deleteIfExists(link((base - BASE) / RANGE));
  }

  private static Path link(int slot) {
    return REGISTRY.resolve("oci-" + slot);
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
