package dev.carrel.bench;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The host's control groups, among which other servers' come and go while one looks. */
final class ControlGroups {
  private static final int DEPTH = 8;

  private ControlGroups() {}

  /** Those with one of the names, in every hierarchy. */
  static List<Path> named(Set<String> names) throws IOException {
    var found = new ArrayList<Path>();
    Files.walkFileTree(Path.of("/sys/fs/cgroup"), Set.of(), DEPTH, new Visit(names, found));
    return found;
  }

  private static final class Visit extends SimpleFileVisitor<Path> {
    private final Set<String> names;
    private final List<Path> found;

    private Visit(Set<String> names, List<Path> found) {
      this.names = names;
      this.found = found;
    }

    @Override
    public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
      if (names.contains(String.valueOf(path.getFileName()))) {
        found.add(path);
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path path, IOException gone) {
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path path, @Nullable IOException gone) {
      return FileVisitResult.CONTINUE;
    }
  }
}
