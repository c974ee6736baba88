package dev.carrel.engine.testkit;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Control groups with processes that somebody else may end and remove at any time. */
final class ProcessGroups {
  private ProcessGroups() {}

  /**
   * Kills all processes in a group and those below it, frozen ones too. One that goes meanwhile is
   * as good as killed.
   */
  static void kill(Path group, int depth) throws IOException {
    for (Path below : depth > 0 ? below(group) : List.<Path>of()) {
      kill(below, depth - 1);
    }
    Path processes = group.resolve("cgroup.procs");
    Path freezer = group.resolve("freezer.state");
    unlessGone(
        processes,
        () -> {
          for (String pid : Files.readAllLines(processes)) {
            ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
          }
        });
    if (Files.exists(freezer, LinkOption.NOFOLLOW_LINKS)) {
      unlessGone(freezer, () -> thaw(freezer));
    }
  }

  private static void thaw(Path freezer) throws IOException {
    // Never made anew: a file where a group was would only be in the way.
    Files.writeString(freezer, "THAWED", StandardOpenOption.WRITE);
  }

  private static List<Path> below(Path group) throws IOException {
    var groups = new ArrayList<Path>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(group, Files::isDirectory)) {
      found.forEach(groups::add);
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (DirectoryIteratorException e) {
      if (Files.exists(group)) {
        throw e.getCause();
      }
    }
    return groups;
  }

  /** The kernel says so in several ways, of which "no such device" has no exception of its own. */
  private static void unlessGone(Path file, Access access) throws IOException {
    try {
      access.run();
    } catch (IOException e) {
      if (Files.exists(file)) {
        throw e;
      }
    }
  }

  private interface Access {
    void run() throws IOException;
  }
}
