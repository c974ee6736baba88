package dev.carrel.image;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What is done with folders whose names others chose: no link is ever followed. */
final class Folder {
  private static final PosixFilePermission[] BITS = {
    PosixFilePermission.OTHERS_EXECUTE,
    PosixFilePermission.OTHERS_WRITE,
    PosixFilePermission.OTHERS_READ,
    PosixFilePermission.GROUP_EXECUTE,
    PosixFilePermission.GROUP_WRITE,
    PosixFilePermission.GROUP_READ,
    PosixFilePermission.OWNER_EXECUTE,
    PosixFilePermission.OWNER_WRITE,
    PosixFilePermission.OWNER_READ
  };

  private Folder() {}

  /** Null when there is nothing. */
  static @Nullable BasicFileAttributes look(Path path) throws IOException {
    return Files.exists(path, LinkOption.NOFOLLOW_LINKS)
        ? Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        : null;
  }

  static boolean isDirectory(Path path) {
    return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
  }

  /** The nine bits that everybody knows: neither setuid nor setgid nor sticky ever gets in. */
  static Set<PosixFilePermission> permissions(int mode) {
    var set = EnumSet.noneOf(PosixFilePermission.class);
    for (int i = 0; i < BITS.length; i++) {
      if ((mode & 1 << i) != 0) {
        set.add(BITS[i]);
      }
    }
    return set;
  }

  static int mode(Path path) throws IOException {
    Set<PosixFilePermission> set = Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS);
    int mode = 0;
    for (int i = 0; i < BITS.length; i++) {
      mode |= set.contains(BITS[i]) ? 1 << i : 0;
    }
    return mode;
  }

  /** Removes it, whatever it is, with all that is in it. Nothing is said when there is nothing. */
  static void delete(Path path) throws IOException {
    if (look(path) == null) {
      return;
    }
    Files.walkFileTree(
        path,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path folder, @Nullable IOException failure)
              throws IOException {
            if (failure != null) {
              throw failure;
            }
            Files.delete(folder);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  /** Bytes that its files have; one with many names counts once for each. */
  static long size(Path path) throws IOException {
    long[] total = {0};
    Files.walkFileTree(
        path,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            total[0] += attributes.isRegularFile() ? attributes.size() : 0;
            return FileVisitResult.CONTINUE;
          }
        });
    return total[0];
  }
}
