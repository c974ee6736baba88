package dev.carrel.engine.host;

import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Looks at the first process of a machine from outside and tells what separates it from the host:
 * seen in the kernel's own files, never taken from what was asked for.
 */
public final class Inspection {
  private static final List<String> NAMESPACES =
      List.of("user", "pid", "net", "mnt", "ipc", "uts", "cgroup");
  private static final Set<String> DEVICES =
      Set.of(
          "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
          "stdout", "tty", "urandom", "zero");

  /** What else can be written to with a root that can; the files in /etc are the machine's own. */
  private static final Set<String> OVERLAY =
      Set.of("/", "/run", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf");

  private static final List<String> READ_ONLY = ProcPaths.READ_ONLY;
  private static final Path NULL = Path.of("/dev/null");

  /** Root, the user that commands are, and nobody. */
  private static final int LEAST_IDS = 3;

  private final Path process;

  public Inspection(long pid) {
    this(Path.of("/proc/" + pid));
  }

  /** What the kernel tells of the process is in that folder. */
  Inspection(Path process) {
    this.process = process;
  }

  public Inspection namespaces(Measures measures) throws IOException {
    for (String name : NAMESPACES) {
      boolean own =
          !Files.readSymbolicLink(process.resolve("ns/" + name))
              .equals(Files.readSymbolicLink(Path.of("/proc/self/ns/" + name)));
      measures.put(measure(name), own, own ? "own" : "the host's");
    }
    return this;
  }

  private static String measure(String namespace) {
    return switch (namespace) {
      case "net" -> "network-namespace";
      case "mnt" -> "mount-namespace";
      default -> namespace + "-namespace";
    };
  }

  public Inspection ids(Measures measures, Rootfs rootfs) throws IOException {
    long own = HostProcess.user();
    long first = -1;
    long count = 0;
    boolean ours = false;
    for (String line : Files.readAllLines(process.resolve("uid_map"))) {
      String[] map = line.strip().split("\\s+", -1);
      long outside = Long.parseLong(map[1]);
      long length = Long.parseLong(map[2]);
      first = first < 0 ? outside : first;
      count += length;
      ours |= own >= outside && own < outside + length;
    }
    boolean range = !ours && count >= LEAST_IDS;
    measures.put(
        "uid-range",
        range,
        range ? count + " ids from " + first + ", of no other sandbox" : "ids are the host's own");
    measures.put(
        "own-guest-uid",
        range,
        range ? people(rootfs) : "the guest is root and code user 1000 of the host");
    return this;
  }

  private static String people(Rootfs rootfs) {
    return rootfs == Rootfs.OVERLAY ? "guest 65533, code 0" : "guest 0, code 1000";
  }

  /** What its control group holds it to. */
  public static void limits(Measures measures, ControlGroup group, Limits limits)
      throws IOException {
    OptionalLong memory = group.memoryLimit();
    measures.put(
        "memory-limit",
        memory.isPresent() && memory.getAsLong() <= limits.memory().bytes(),
        memory.isPresent() ? memory.getAsLong() + " bytes" : "none in force");
    OptionalLong pids = group.pidsLimit();
    measures.put(
        "pids-limit",
        pids.isPresent() && pids.getAsLong() <= limits.pids(),
        pids.isPresent() ? pids.getAsLong() + " processes and threads" : "none in force");
    OptionalLong cpu = group.cpuQuota();
    measures.put(
        "cpu-limit",
        cpu.isPresent() && cpu.getAsLong() <= ControlGroup.quota(limits.cpus()),
        cpu.isPresent() ? cpu.getAsLong() + " us in each 100 ms" : "none in force");
    measures.put(
        "freezer", group.freezes(), group.freezes() ? "of its control group" : "there is none");
  }

  /**
   * What it sees of files.
   *
   * @throws IOException also where more can be written to than a writable root explains
   */
  public Inspection files(Measures measures, Rootfs rootfs) throws IOException {
    List<Mount> mounts = visible(Files.readAllLines(process.resolve("mountinfo")));
    proc(measures, mounts);
    List<String> writable =
        mounts.stream()
            .filter(m -> !m.options().contains("ro"))
            .map(Mount::point)
            .filter(point -> !ours(point))
            .toList();
    if (rootfs == Rootfs.OVERLAY) {
      requireOnly(OVERLAY, writable);
      measures.missing("read-only-root", Measures.OVERLAY);
    } else {
      measures.put(
          "read-only-root",
          writable.isEmpty(),
          writable.isEmpty() ? "read-only, all mounts below it too" : "writable: " + writable);
    }
    measures.put("tmpfs-tmp", limited(mounts, "/tmp"), detail(mounts, "/tmp"));
    measures.put("workspace-limit", limited(mounts, "/workspace"), detail(mounts, "/workspace"));
    var devices = new TreeSet<String>();
    try (Stream<Path> nodes = Files.list(process.resolve("root/dev"))) {
      nodes.map(path -> String.valueOf(path.getFileName())).forEach(devices::add);
    }
    boolean minimal = DEVICES.containsAll(devices);
    measures.put("minimal-dev", minimal, String.join(" ", devices));
    return this;
  }

  /** That something is mounted there is not enough: it has to be nothing that can be read. */
  private void proc(Measures measures, List<Mount> mounts) throws IOException {
    var bare = new ArrayList<String>();
    int closed = 0;
    for (String path : Stream.concat(ProcPaths.MASKED.stream(), READ_ONLY.stream()).toList()) {
      if (Files.notExists(Path.of(path))) {
        continue; // not with this kernel
      }
      closed++;
      if (READ_ONLY.contains(path) ? !isReadOnly(mounts, path) : !isMasked(path)) {
        bare.add(path);
      }
    }
    measures.put(
        "masked-proc",
        bare.isEmpty(),
        bare.isEmpty() ? closed + " paths masked or read-only" : "neither is so of " + bare);
  }

  private boolean isMasked(String path) throws IOException {
    Path seen = process.resolve("root" + path);
    if (Files.isDirectory(seen)) {
      try (Stream<Path> inside = Files.list(seen)) {
        return inside.findAny().isEmpty();
      }
    }
    return Files.notExists(seen)
        || Files.getAttribute(seen, "unix:rdev").equals(Files.getAttribute(NULL, "unix:rdev"));
  }

  private static boolean isReadOnly(List<Mount> mounts, String point) {
    return mounts.stream().anyMatch(m -> m.point().equals(point) && m.options().contains("ro"));
  }

  private static void requireOnly(Set<String> explained, List<String> writable) throws IOException {
    if (!explained.containsAll(writable)) {
      throw new IOException("more can be written to than the root: " + writable);
    }
  }

  /** Without those that a later one covers; the kernel lists them in the order they were made. */
  private static List<Mount> visible(List<String> lines) {
    var seen = new ArrayList<Mount>();
    for (String line : lines) {
      Mount mount = Mount.parse(line);
      seen.removeIf(older -> (older.point() + "/").startsWith(mount.point() + "/"));
      seen.add(mount);
    }
    return seen;
  }

  /** What a machine may write to, or a mask that is the null device. */
  private static boolean ours(String point) {
    return point.equals("/proc")
        || (point.startsWith("/proc/")
            && READ_ONLY.stream().noneMatch(fixed -> (point + "/").startsWith(fixed + "/")))
        || point.equals("/dev")
        || point.startsWith("/dev/")
        || point.equals("/tmp")
        || point.equals("/workspace")
        || point.equals(RootTree.GUEST);
  }

  private static boolean limited(List<Mount> mounts, String point) {
    return mounts.stream()
        .filter(m -> m.point().equals(point))
        .anyMatch(m -> m.type().equals("ext4") || m.details().contains("size="));
  }

  private static String detail(List<Mount> mounts, String point) {
    return mounts.stream()
        .filter(m -> m.point().equals(point))
        .findFirst()
        .map(m -> m.type() + " " + m.details())
        .orElse("not a file system of its own");
  }

  public Inspection openFiles(Measures measures, int wanted) throws IOException {
    long limit =
        Files.readAllLines(process.resolve("limits")).stream()
            .filter(line -> line.startsWith("Max open files"))
            .mapToLong(line -> Long.parseLong(line.split("\\s{2,}", -1)[2]))
            .findFirst()
            .orElse(Long.MAX_VALUE);
    measures.put("nofile-limit", limit <= wanted, limit + " descriptors a process");
    return this;
  }

  /** Takes back what the guest says of itself where the kernel does not say so too. */
  public Inspection claims(Measures measures) throws IOException {
    List<String> status = Files.readAllLines(process.resolve("status"));
    measures.doubt("seccomp", status.contains("Seccomp:\t2"));
    measures.doubt("no-new-privileges", status.contains("NoNewPrivs:\t1"));
    measures.doubt("no-capabilities", status.contains("CapBnd:\t0000000000000000"));
    return this;
  }

  private record Mount(String point, List<String> options, String type, String details) {
    static Mount parse(String line) {
      String[] halves = line.split(" - ", 2);
      String[] left = halves[0].split(" ", -1);
      String[] right = halves[1].split(" ", 3);
      return new Mount(left[4], List.of(left[5].split(",", -1)), right[0], right[2]);
    }
  }
}
