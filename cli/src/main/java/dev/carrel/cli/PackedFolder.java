package dev.carrel.cli;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A folder as a zip in a temporary place, with the permissions of its files. Links and devices are
 * left out. Closing removes the zip.
 */
final class PackedFolder implements AutoCloseable {
  // Java's other way to write a zip knows no permissions.
  private static final Map<String, String> FORMAT =
      Map.of("create", "true", "enablePosixFileAttributes", "true", "useTempFile", "true");

  private final Path place;

  private PackedFolder(Path place) {
    this.place = place;
  }

  static PackedFolder of(Path folder) throws IOException {
    var packed = new PackedFolder(Files.createTempDirectory("carrel-packed"));
    try {
      packed.pack(folder.toRealPath());
      return packed;
    } catch (IOException | RuntimeException e) {
      packed.close();
      throw e;
    }
  }

  Path zip() {
    return place.resolve("folder.zip");
  }

  private void pack(Path folder) throws IOException {
    try (Stream<Path> found = Files.walk(folder);
        FileSystem zip = FileSystems.newFileSystem(zip(), FORMAT)) {
      Path root = zip.getPath("/");
      for (Path file : found.toList()) {
        Path entry = root.resolve(folder.relativize(file).toString());
        if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
          Files.createDirectories(entry);
        } else if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
          Files.copy(file, entry);
          Files.setPosixFilePermissions(entry, Files.getPosixFilePermissions(file));
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    remove(place);
  }

  /** A folder of our own, with all that is in it. */
  static void remove(Path folder) throws IOException {
    try (Stream<Path> left = Files.walk(folder)) {
      for (Path file : left.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
