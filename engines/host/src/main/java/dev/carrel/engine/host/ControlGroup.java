package dev.carrel.engine.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine.Usage;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The control group of one machine, whichever version the host has: its counters, its limits and
 * its freezer. It belongs to whoever made it; here it is read and changed, never made.
 *
 * @param first folders of version 1 by controller
 * @param second the folder of version 2, where that controls
 */
public record ControlGroup(Map<String, Path> first, @Nullable Path second) {
  private static final Duration FREEZE = Duration.ofSeconds(10);
  private static final Duration GOING = Duration.ofSeconds(1);
  private static final long PERIOD_MICROS = 100_000;
  private static final long MEBIBYTE = 1 << 20;

  public ControlGroup {
    first = Map.copyOf(first);
  }

  /** Where the kernel counts the processes that it killed for want of memory. */
  public Optional<Path> oomEvents() {
    return second != null
        ? Optional.of(second.resolve("memory.events"))
        : folder("memory").map(folder -> folder.resolve("memory.oom_control"));
  }

  public boolean exists() {
    return second != null
        ? Files.isDirectory(second)
        : first.values().stream().anyMatch(Files::isDirectory);
  }

  /** The numbers of those in it; none where there is no such group. */
  public Set<Long> processes() {
    var pids = new TreeSet<Long>();
    for (Path folder : second != null ? List.of(second) : List.copyOf(first.values())) {
      try {
        Files.readAllLines(folder.resolve("cgroup.procs")).stream()
            .map(Long::valueOf)
            .forEach(pids::add);
      } catch (IOException e) {
        // It is gone, and so are they.
      }
    }
    return pids;
  }

  /** Removes what nobody uses any more. */
  public void remove() {
    for (Path folder : second != null ? List.of(second) : List.copyOf(first.values())) {
      try {
        Files.deleteIfExists(folder);
      } catch (IOException e) {
        // Somebody is still in it, or it is no folder of ours: whoever looks for leftovers sees it.
      }
    }
  }

  public Usage usage() throws IOException {
    long cpuNanos =
        second != null
            ? 1000 * number(second.resolve("cpu.stat"), "usage_usec").orElse(0)
            : of("cpuacct", "cpuacct.usage", "");
    return new Usage(
        second != null
            ? number(second.resolve("memory.current"), "").orElse(0)
            : of("memory", "memory.usage_in_bytes", ""),
        cpuNanos,
        of("pids", "pids.current", ""),
        oomEvents().isPresent() ? number(oomEvents().get(), "oom_kill").orElse(0) : 0,
        of("pids", "pids.events", "max"));
  }

  /** The limit of memory in force; empty where there is none. */
  public OptionalLong memoryLimit() throws IOException {
    OptionalLong limit =
        second != null
            ? number(second.resolve("memory.max"), "")
            : find("memory", "memory.limit_in_bytes", "");
    return limit.isPresent() && limit.getAsLong() > Long.MAX_VALUE / 2
        ? OptionalLong.empty()
        : limit;
  }

  public OptionalLong pidsLimit() throws IOException {
    return second != null ? number(second.resolve("pids.max"), "") : find("pids", "pids.max", "");
  }

  /** Microseconds of time on a processor in each tenth of a second; empty where nothing limits. */
  public OptionalLong cpuQuota() throws IOException {
    OptionalLong quota =
        second != null
            ? number(second.resolve("cpu.max"), "")
            : find("cpu", "cpu.cfs_quota_us", "");
    return quota.isPresent() && quota.getAsLong() < 0 ? OptionalLong.empty() : quota;
  }

  public boolean freezes() {
    return second != null
        ? Files.exists(second.resolve("cgroup.freeze"))
        : folder("freezer").filter(f -> Files.exists(f.resolve("freezer.state"))).isPresent();
  }

  public boolean frozen() throws IOException {
    if (second != null) {
      return number(second.resolve("cgroup.events"), "frozen").orElse(0) == 1;
    }
    Optional<Path> folder = folder("freezer");
    return folder.isPresent()
        && Files.readString(folder.get().resolve("freezer.state")).strip().equals("FROZEN");
  }

  /** Returns when every process stands still. */
  public void freeze() throws IOException {
    freezer("1", "FROZEN");
    long end = System.nanoTime() + FREEZE.toNanos();
    while (!frozen()) {
      if (System.nanoTime() - end > 0) {
        freezer("0", "THAWED");
        throw new IOException("its processes did not stand still in " + FREEZE);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
      freezer("1", "FROZEN"); // version 1 gives up on a process that forks meanwhile
    }
  }

  public void thaw() throws IOException {
    freezer("0", "THAWED");
  }

  /** As {@link #thaw}, for who is to be killed: a group that goes meanwhile has nobody left. */
  public void thawRemains() throws IOException {
    if (!freezes()) {
      return;
    }
    try {
      thaw();
    } catch (IOException e) {
      if (!Patience.until(GOING, () -> !freezes())) {
        throw e;
      }
    }
  }

  private void freezer(String value, String word) throws IOException {
    if (second != null) {
      Files.writeString(second.resolve("cgroup.freeze"), value);
    } else {
      Files.writeString(require("freezer").resolve("freezer.state"), word);
    }
  }

  /** Changes memory, cpus and processes; what can be refused comes first, and changes nothing. */
  public void change(Limits old, Limits wanted) throws IOException {
    long pids = of("pids", "pids.current", "");
    if (wanted.pids() < old.pids() && pids > wanted.pids()) {
      throw tooMuch(pids + " of processes and threads", Integer.toString(wanted.pids()));
    }
    if (!wanted.memory().equals(old.memory())) {
      changeMemory(old.memory().bytes(), wanted.memory().bytes());
    }
    Path folder = second != null ? second : require("pids");
    Files.writeString(folder.resolve("pids.max"), Integer.toString(wanted.pids()));
    long quota = quota(wanted.cpus());
    if (second != null) {
      Files.writeString(second.resolve("cpu.max"), quota + " " + PERIOD_MICROS);
    } else {
      Files.writeString(require("cpu").resolve("cpu.cfs_quota_us"), Long.toString(quota));
    }
  }

  public static long quota(double cpus) {
    return Math.max(1000, Math.round(cpus * PERIOD_MICROS));
  }

  public static long period() {
    return PERIOD_MICROS;
  }

  /**
   * Lets buffers of sockets count, too, where version 1 does so only when it is told: up to as much
   * as there is memory. Runtimes pass over this limit without a word.
   */
  public void limitBuffers(long bytes) throws IOException {
    Optional<Path> file = folder("memory").map(f -> f.resolve("memory.kmem.tcp.limit_in_bytes"));
    if (second == null && file.isPresent() && Files.isWritable(file.get())) {
      Files.writeString(file.get(), Long.toString(bytes));
    }
  }

  private void changeMemory(long old, long wanted) throws IOException {
    if (second != null) {
      changeMemoryOfSecond(second, wanted);
      return;
    }
    Path folder = require("memory");
    List<String> order =
        wanted > old
            ? List.of("memory.memsw.limit_in_bytes", "memory.limit_in_bytes")
            : List.of("memory.limit_in_bytes", "memory.memsw.limit_in_bytes");
    for (String name : order) {
      Path file = folder.resolve(name);
      if (!Files.exists(file)) {
        continue; // a host that does not account swap
      }
      try {
        Files.writeString(file, Long.toString(wanted));
      } catch (IOException e) {
        // It takes back what it can by itself, and refuses when that is not enough.
        if (usage().memoryBytes() + MEBIBYTE > wanted) {
          throw memoryInUse(wanted);
        }
        throw e;
      }
    }
    try {
      limitBuffers(wanted);
    } catch (IOException e) {
      // More is in them: then they keep the bound that they had.
    }
  }

  /** Version 2 would kill for a limit below what is in use: so it is looked at first. */
  private void changeMemoryOfSecond(Path folder, long wanted) throws IOException {
    long used = usage().memoryBytes();
    if (used > wanted) {
      Path reclaim = folder.resolve("memory.reclaim");
      try {
        if (Files.exists(reclaim)) {
          Files.writeString(reclaim, Long.toString(used - wanted));
        }
      } catch (IOException e) {
        // Not all of it could be given back; what is left is looked at below.
      }
      if (usage().memoryBytes() > wanted) {
        throw memoryInUse(wanted);
      }
    }
    Files.writeString(folder.resolve("memory.max"), Long.toString(wanted));
  }

  private SandboxException memoryInUse(long wanted) throws IOException {
    long used = (usage().memoryBytes() + MEBIBYTE - 1) / MEBIBYTE;
    return tooMuch(used + " MiB of memory", wanted / MEBIBYTE + " MiB");
  }

  private static SandboxException tooMuch(String used, String wanted) {
    return new SandboxException(
        ErrorCode.WRONG_STATE,
        "change limits: " + used + " are in use, more than the " + wanted + " that were asked for");
  }

  private Optional<Path> folder(String controller) {
    return Optional.ofNullable(first.get(controller));
  }

  private Path require(String controller) throws IOException {
    return folder(controller)
        .orElseThrow(() -> new IOException("the host has no control group for " + controller));
  }

  private long of(String controller, String file, String word) throws IOException {
    return second != null
        ? number(second.resolve(file), word).orElse(0)
        : find(controller, file, word).orElse(0);
  }

  private OptionalLong find(String controller, String file, String word) throws IOException {
    Optional<Path> folder = folder(controller);
    return folder.isEmpty() ? OptionalLong.empty() : number(folder.get().resolve(file), word);
  }

  /**
   * The number after the word at the start of a line, or the file's first; none for {@code max}.
   */
  private static OptionalLong number(Path file, String word) throws IOException {
    String prefix = word.isEmpty() ? "" : word + " ";
    for (String line : Files.readAllLines(file)) {
      if (line.startsWith(prefix)) {
        String value = line.substring(prefix.length()).strip().split(" ", 2)[0];
        return value.equals("max") ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(value));
      }
    }
    throw new NoSuchFileException(file.toString(), null, "it has no line " + word);
  }
}
