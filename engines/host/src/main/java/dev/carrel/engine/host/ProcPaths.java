package dev.carrel.engine.host;

import java.util.List;
import java.util.stream.Stream;

/** What a machine does not get to see of /proc, or not to write. */
public final class ProcPaths {
  /** Covered, so that there is nothing in them. */
  public static final List<String> MASKED =
      below(
          "acpi",
          "asound",
          "config.gz",
          "driver",
          "interrupts",
          "kallsyms",
          "kcore",
          "key-users",
          "keys",
          "kmsg",
          "kpagecgroup",
          "kpagecount",
          "kpageflags",
          "latency_stats",
          "pagetypeinfo",
          "sched_debug",
          "scsi",
          "slabinfo",
          "sysrq-trigger",
          "timer_list",
          "timer_stats",
          "vmallocinfo");

  public static final List<String> READ_ONLY = below("sys", "irq", "bus", "fs", "tty");

  private ProcPaths() {}

  private static List<String> below(String... names) {
    return Stream.of(names).map(name -> "/proc/" + name).toList();
  }
}
