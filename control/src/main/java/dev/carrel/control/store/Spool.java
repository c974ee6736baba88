package dev.carrel.control.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** A folder for what has to be on the disk for a moment. Nothing in it outlives the process. */
public final class Spool {
  private final Path folder;

  /** Makes the folder, and clears what a process that was killed left in it. */
  public Spool(Path folder) {
    this.folder = folder;
    try {
      Files.createDirectories(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      try (var left = Files.newDirectoryStream(folder)) {
        for (Path file : left) {
          Files.delete(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot use " + folder, e);
    }
  }

  /** An empty file, which the caller deletes. */
  public Path create() throws IOException {
    return Files.createTempFile(folder, "part", ".tmp");
  }
}
