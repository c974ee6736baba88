package dev.carrel.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** How much of what sandboxes consist of exists on the host just now. */
record Leftovers(int processes, int mounts, int cgroups, int folders) {
  static Leftovers count(ServerProcess server) throws IOException {
    return new Leftovers(
        (int) Memory.processes().stream().filter(Leftovers::isGuest).count(),
        Files.readAllLines(Path.of("/proc/self/mountinfo")).size(),
        folders(Path.of("/sys/fs/cgroup"), "sb[a-z2-7]{14}"),
        folders(server.runDirectory(), "sb[a-z2-7]{14}"));
  }

  private static boolean isGuest(Path process) {
    try {
      return Files.readString(process.resolve("cgroup")).contains("/sb");
    } catch (IOException gone) {
      return false;
    }
  }

  private static int folders(Path root, String pattern) throws IOException {
    try (Stream<Path> found =
        Files.find(
            root,
            8,
            (path, attributes) ->
                attributes.isDirectory() && path.getFileName().toString().matches(pattern))) {
      return (int) found.count();
    }
  }
}
