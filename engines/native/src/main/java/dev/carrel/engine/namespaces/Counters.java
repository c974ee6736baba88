package dev.carrel.engine.namespaces;

import dev.carrel.spi.Machine.Usage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A sandbox's counters, read straight from the kernel's files. These stay open: reading one again
 * costs two microseconds, opening it twenty. Safe for many threads.
 */
final class Counters implements AutoCloseable {
  private static final int FILE_SIZE = 1024;

  private final List<Counter> counters;

  private Counters(List<Counter> counters) {
    this.counters = counters;
  }

  private enum Kind {
    MEMORY,
    CPU_NANOS,
    CPU_MICROS,
    PIDS,
    OOM_KILLS,
    PIDS_REFUSED
  }

  /**
   * One number of a file.
   *
   * @param word the start of its line; empty when the file is the number
   */
  private record Counter(Kind kind, FileChannel file, String word) {}

  static Counters open(List<Cgroup> cgroups) throws IOException {
    var counters = new ArrayList<Counter>();
    for (Cgroup cgroup : cgroups) {
      boolean first = cgroup.version() == 1;
      switch (cgroup.controller()) {
        case "memory" -> {
          add(
              counters,
              Kind.MEMORY,
              cgroup,
              first ? "memory.usage_in_bytes" : "memory.current",
              "");
          String events = first ? "memory.oom_control" : "memory.events";
          add(counters, Kind.OOM_KILLS, cgroup, events, "oom_kill");
        }
        case "pids" -> {
          add(counters, Kind.PIDS, cgroup, "pids.current", "");
          add(counters, Kind.PIDS_REFUSED, cgroup, "pids.events", "max");
        }
        case "cpuacct" -> {
          if (first) {
            add(counters, Kind.CPU_NANOS, cgroup, "cpuacct.usage", "");
          } else {
            add(counters, Kind.CPU_MICROS, cgroup, "cpu.stat", "usage_usec");
          }
        }
        default -> {} // cpu and freezer count nothing for us
      }
    }
    return new Counters(counters);
  }

  private static void add(
      List<Counter> counters, Kind kind, Cgroup cgroup, String name, String word)
      throws IOException {
    Path path = cgroup.folder().resolve(name);
    counters.add(new Counter(kind, FileChannel.open(path), word));
  }

  Usage read() throws IOException {
    long memory = 0;
    long cpu = 0;
    long pids = 0;
    long oomKills = 0;
    long pidsRefused = 0;
    for (Counter counter : counters) {
      long value = number(counter);
      switch (counter.kind()) {
        case MEMORY -> memory = value;
        case CPU_NANOS -> cpu = value;
        case CPU_MICROS -> cpu = value * 1000;
        case PIDS -> pids = value;
        case OOM_KILLS -> oomKills = value;
        case PIDS_REFUSED -> pidsRefused = value;
      }
    }
    return new Usage(memory, cpu, pids, oomKills, pidsRefused);
  }

  private static long number(Counter counter) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(FILE_SIZE);
    int length = Math.max(0, counter.file().read(buffer, 0));
    String text = new String(buffer.array(), 0, length, StandardCharsets.US_ASCII);
    String prefix = counter.word().isEmpty() ? "" : counter.word() + " ";
    return text.lines()
        .filter(line -> line.startsWith(prefix))
        .findFirst()
        .map(line -> Long.parseLong(line.substring(prefix.length()).strip()))
        .orElse(0L);
  }

  @Override
  public void close() {
    for (Counter counter : counters) {
      try {
        counter.file().close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
