package dev.carrel.engine.host;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** In what a machine with a kernel of its own differs, and how its limits are to be read. */
public final class Gvisor {
  /** For the kernel itself and its file server, which share the machine's control group. */
  public static final long OVERHEAD = 128L << 20;

  /** In the server's folder of programs: what makes up for an old gVisor, loaded before libc. */
  public static final String PRELOAD = "preload/gvisor.so";

  /** A kernel without a thread to spare does not refuse a fork: it dies. */
  private static final long MIN_THREADS = 1024;

  private static final int THREADS_PER_PROCESS = 4;

  /** What a machine of this kind never has, or never shows, for a reason that no host can mend. */
  public static final Set<String> NEVER_HAS =
      Set.of(
          "landlock",
          "uid-range",
          "own-guest-uid",
          "memory-limit",
          "pids-limit",
          "no-capabilities",
          "no-new-privileges");

  private Gvisor() {}

  public static long threads(int pids) {
    return MIN_THREADS + (long) THREADS_PER_PROCESS * pids;
  }

  /** What the host's view of gVisor cannot show, or would show wrongly. */
  public static void describe(Measures measures, ControlGroup group, long disk, long temporary)
      throws IOException {
    measures
        .missing("uid-range", "gVisor's own ids; files of the host are reached by its file server")
        .missing("own-guest-uid", "gVisor's own ids: guest 0, code 1000")
        .missing(
            "memory-limit",
            "of the machine, not of a process: at %d bytes, gVisor's own %d among them, all of it ends"
                .formatted(group.memoryLimit().orElse(0), OVERHEAD))
        .missing(
            "pids-limit",
            "gVisor counts no processes; its threads are bounded by %d"
                .formatted(group.pidsLimit().orElse(0)))
        .applied("pid-namespace", "processes of gVisor's own kernel")
        .applied("cgroup-namespace", "gVisor shows no control groups of the host")
        .applied("read-only-root", "by gVisor's own file system layer")
        .applied("masked-proc", "gVisor's own /proc: nothing of the host's kernel is in it")
        .applied("minimal-dev", "gVisor's own devices")
        .applied("workspace-limit", "tmpfs of " + disk + " bytes in gVisor's memory")
        .applied("tmpfs-tmp", temporary + " bytes in gVisor's memory");
  }

  /** Fails where the guest, by its report, runs on this host's kernel after all. */
  public static void requireOtherKernel(List<String> report) throws IOException {
    Path kernel = Path.of("/proc/sys/kernel");
    String host =
        Files.readString(kernel.resolve("osrelease")).strip()
            + " "
            + Files.readString(kernel.resolve("version")).strip();
    if (!isOtherKernel(report, host)) {
      throw new SandboxException(
          ErrorCode.ISOLATION_NOT_AVAILABLE,
          "start, kernel: the machine sees this host's kernel, so this is not gVisor");
    }
  }

  /** What code inside meets with and would not on Linux. */
  public static List<String> notes(boolean preloads) {
    var notes = new ArrayList<String>();
    notes.add("named pipes and sockets that are made in a volume end with the machine");
    if (preloads) {
      notes.add(
          "this gVisor refuses a flag that coreutils set: %s mends it for dynamically linked"
                  .formatted(PRELOAD)
              + " programs, statically linked ones that set it fail with 'Invalid argument';"
              + " a newer gVisor needs none of this");
    }
    return notes;
  }

  /** Whether machines load what makes up for an old one, as {@link #notes} says. */
  public static boolean preloads(Capabilities measured) {
    return measured.problems().stream().anyMatch(problem -> problem.contains(PRELOAD));
  }

  /** Whether the guest, by its report, was refused a flag that coreutils set. */
  public static boolean refusesNoAutomount(List<String> report) {
    return report.contains("=refuses AT_NO_AUTOMOUNT");
  }

  /** Whether the guest, by its report, runs on another kernel than this host's. */
  private static boolean isOtherKernel(List<String> report, String hostVersion) {
    return report.stream()
        .filter(line -> line.startsWith("=kernel "))
        .map(line -> line.substring("=kernel ".length()).strip())
        .anyMatch(kernel -> !kernel.isEmpty() && !hostVersion.contains(kernel));
  }
}
