package dev.carrel.engine.namespaces;

import dev.carrel.spi.Machine.Usage;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A sandbox's counters, read straight from the kernel's files. These stay open: reading one again
 * costs two microseconds, opening it twenty. A channel would be closed by the interrupt of whoever
 * happens to read; these are not. For one thread at a time.
 */
final class Counters implements AutoCloseable {
  private static final int FILE_SIZE = 1024;

  private final List<Counter> counters = new ArrayList<>();

  private Counters() {}

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
  private record Counter(Kind kind, RandomAccessFile file, String word) {}

  static Counters open(List<Cgroup> cgroups) throws IOException {
    var counters = new Counters();
    try {
      for (Cgroup cgroup : cgroups) {
        counters.add(cgroup);
      }
    } catch (IOException e) {
      counters.close();
      throw e;
    }
    return counters;
  }

  private void add(Cgroup cgroup) throws IOException {
    boolean first = cgroup.version() == 1;
    switch (cgroup.controller()) {
      case "memory" -> {
        add(Kind.MEMORY, cgroup, first ? "memory.usage_in_bytes" : "memory.current", "");
        add(Kind.OOM_KILLS, cgroup, first ? "memory.oom_control" : "memory.events", "oom_kill");
      }
      case "pids" -> {
        add(Kind.PIDS, cgroup, "pids.current", "");
        add(Kind.PIDS_REFUSED, cgroup, "pids.events", "max");
      }
      case "cpuacct" -> {
        if (first) {
          add(Kind.CPU_NANOS, cgroup, "cpuacct.usage", "");
        } else {
          add(Kind.CPU_MICROS, cgroup, "cpu.stat", "usage_usec");
        }
      }
      default -> {} // cpu and freezer count nothing for us
    }
  }

  private void add(Kind kind, Cgroup cgroup, String name, String word) throws IOException {
    String path = cgroup.folder().resolve(name).toString();
    counters.add(new Counter(kind, new RandomAccessFile(path, "r"), word));
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
    byte[] bytes = new byte[FILE_SIZE];
    counter.file().seek(0);
    int length = Math.max(0, counter.file().read(bytes));
    String text = new String(bytes, 0, length, StandardCharsets.US_ASCII);
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
