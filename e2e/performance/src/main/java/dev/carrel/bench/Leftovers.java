package dev.carrel.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * How much of what certain sandboxes of one server consisted of exists on the host just now. Other
 * servers may run beside it.
 */
public record Leftovers(
    int processes,
    int mounts,
    int cgroups,
    int folders,
    int volumes,
    int loopDevices,
    int idSlots) {
  private static final Pattern SANDBOX = Pattern.compile("sb[a-z2-7]{14}");
  private static final Pattern VOLUME = Pattern.compile("(vo|sn)[a-z2-7]{14}.*");
  private static final Path ID_REGISTRY = Path.of("/run/carrel-ids/slots");
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * Counts what there is.
   *
   * @param ids of sandboxes that should be gone
   */
  public static Leftovers count(ServerProcess server, Set<String> ids) throws IOException {
    Path run = server.runDirectory();
    return new Leftovers(
        (int) Memory.processes().stream().filter(process -> belongs(process, ids)).count(),
        (int)
            Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                .filter(line -> line.contains(run.getParent() + "/") || names(line, ids))
                .count(),
        ControlGroups.named(ids).size(),
        names(run, SANDBOX).size(),
        names(server.volumeDirectory(), VOLUME).size(),
        loopDevices(server.volumeDirectory()),
        idSlots(run));
  }

  /**
   * As {@link #count}, when the last volume has had its moment: its loop device goes after it, and
   * boxes and volumes are kept a little for the sandboxes that may come next.
   */
  public static Leftovers settled(ServerProcess server, Set<String> ids)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    Leftovers left = count(server, ids);
    while (left.folders + left.loopDevices > 0 && System.nanoTime() < end) {
      Thread.sleep(Duration.ofMillis(50));
      left = count(server, ids);
    }
    return left;
  }

  /** Nothing of any kind. */
  public boolean none() {
    return processes + mounts + cgroups + folders + volumes + loopDevices + idSlots == 0;
  }

  void report(Report report) {
    report.add(Row.figure("processes left", processes, "left", 0));
    report.add(Row.figure("mounts left", mounts, "left", 0));
    report.add(Row.figure("cgroups left", cgroups, "left", 0));
    report.add(Row.figure("folders left", folders, "left", 0));
    report.add(Row.figure("volumes left", volumes, "left", 0));
    report.add(Row.figure("loop devices left", loopDevices, "left", 0));
    report.add(Row.figure("user id ranges left", idSlots, "left", 0));
  }

  // A daemon names groups after its containers; then the folder that a machine has of ours tells.
  private static boolean belongs(Path process, Set<String> ids) {
    try {
      return names(Files.readString(process.resolve("cgroup")), ids)
          || (!isOurs(process) && names(Files.readString(process.resolve("mountinfo")), ids));
    } catch (IOException gone) {
      return false;
    }
  }

  /** Whether it sees the mounts that this process sees, which may be those of all sandboxes. */
  private static boolean isOurs(Path process) throws IOException {
    Path mounts = Path.of("ns/mnt");
    return Files.readSymbolicLink(process.resolve(mounts))
        .equals(Files.readSymbolicLink(Path.of("/proc/self").resolve(mounts)));
  }

  private static boolean names(String text, Set<String> ids) {
    return SANDBOX.matcher(text).results().anyMatch(found -> ids.contains(found.group()));
  }

  private static List<String> names(Path folder, Pattern pattern) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> entries = Files.list(folder)) {
      return entries
          .map(path -> path.getFileName().toString())
          .filter(name -> pattern.matcher(name).matches())
          .toList();
    }
  }

  /** How many volumes of a folder are open. */
  static int loopDevices(Path volumes) throws IOException {
    int count = 0;
    try (Stream<Path> devices = Files.list(Path.of("/sys/block"))) {
      for (Path device : devices.toList()) {
        if (backing(device).startsWith(volumes + "/")) {
          count++;
        }
      }
    }
    return count;
  }

  private static String backing(Path device) {
    try {
      return Files.readString(device.resolve("loop/backing_file"));
    } catch (IOException none) {
      return "";
    }
  }

  private static int idSlots(Path run) throws IOException {
    int count = 0;
    if (Files.exists(ID_REGISTRY)) {
      for (String record : Files.readString(ID_REGISTRY).split("\0+", -1)) {
        Path owner = Path.of(record);
        if (owner.startsWith(run) && SANDBOX.matcher(owner.getFileName().toString()).matches()) {
          count++;
        }
      }
    }
    return count;
  }
}
