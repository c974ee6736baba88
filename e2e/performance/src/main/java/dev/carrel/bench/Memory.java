package dev.carrel.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What sandboxes cost in memory: the proportional share of their processes' pages, and the kernel
 * memory charged to them.
 */
final class Memory {
  private static final Pattern SANDBOX = Pattern.compile("sb[a-z2-7]{14}");

  private Memory() {}

  /** The mean over the sandboxes, in MiB. */
  static double perSandbox(List<String> ids) throws IOException {
    Set<String> wanted = Set.copyOf(ids);
    double kibibytes = 0;
    for (Path process : processes()) {
      String cgroups = read(process.resolve("cgroup"));
      if (SANDBOX.matcher(cgroups).results().anyMatch(id -> wanted.contains(id.group()))) {
        kibibytes += pss(process);
      }
    }
    return (kibibytes + kernelKibibytes(wanted)) / 1024 / ids.size();
  }

  static List<Path> processes() throws IOException {
    try (Stream<Path> entries = Files.list(Path.of("/proc"))) {
      return entries.filter(entry -> entry.getFileName().toString().matches("\\d+")).toList();
    }
  }

  private static double pss(Path process) {
    return read(process.resolve("smaps_rollup"))
        .lines()
        .filter(line -> line.startsWith("Pss:"))
        .mapToDouble(line -> Double.parseDouble(line.replaceAll("\\D+", "")))
        .sum();
  }

  private static double kernelKibibytes(Set<String> ids) throws IOException {
    double bytes = 0;
    for (Path cgroup : ControlGroups.named(ids)) {
      bytes += kernelBytes(cgroup);
    }
    return bytes / 1024;
  }

  /** Nothing where the memory controller is not; a sandbox has a group of it in one place. */
  private static double kernelBytes(Path cgroup) {
    String v1 = read(cgroup.resolve("memory.kmem.usage_in_bytes")).strip();
    if (!v1.isEmpty()) {
      return Double.parseDouble(v1);
    }
    return read(cgroup.resolve("memory.stat"))
        .lines()
        .filter(line -> line.startsWith("kernel "))
        .mapToDouble(line -> Double.parseDouble(line.substring("kernel ".length())))
        .sum();
  }

  /** Empty when the file is gone: processes come and go while we look. */
  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException gone) {
      return "";
    }
  }
}
