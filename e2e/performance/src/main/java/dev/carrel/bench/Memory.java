package dev.carrel.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * What sandboxes cost in memory: the proportional share of their processes' pages, and the kernel
 * memory charged to them.
 */
final class Memory {
  private Memory() {}

  /** The mean over the sandboxes, in MiB. */
  static double perSandbox(List<String> ids) throws IOException {
    double kibibytes = 0;
    for (Path process : processes()) {
      String cgroups = read(process.resolve("cgroup"));
      if (ids.stream().anyMatch(cgroups::contains)) {
        kibibytes += pss(process);
      }
    }
    for (String id : ids) {
      kibibytes += kernelKibibytes(id);
    }
    return kibibytes / 1024 / ids.size();
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

  private static double kernelKibibytes(String id) throws IOException {
    try (Stream<Path> found =
        Files.find(Path.of("/sys/fs/cgroup"), 8, (path, attributes) -> path.endsWith(id))) {
      for (Path cgroup : found.toList()) {
        String v1 = read(cgroup.resolve("memory.kmem.usage_in_bytes")).strip();
        if (!v1.isEmpty()) {
          return Double.parseDouble(v1) / 1024;
        }
        for (String line : read(cgroup.resolve("memory.stat")).lines().toList()) {
          if (line.startsWith("kernel ")) {
            return Double.parseDouble(line.substring("kernel ".length())) / 1024;
          }
        }
      }
      return 0;
    }
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
