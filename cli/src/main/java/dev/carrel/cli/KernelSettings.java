package dev.carrel.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Settings of the host's kernel that join what sandboxes keep apart. */
final class KernelSettings {
  private static final String MERGES = "1";
  private static final String MERGING =
      "on; machines and programs that have theirs merged can find out what others hold. Code in"
          + " sandboxes cannot ask for it; for all others, echo 2 > /sys/kernel/mm/ksm/run";

  private KernelSettings() {}

  /**
   * What each of them is, and what that means; without those that this kernel does not have.
   *
   * @param root where /proc and /sys are
   */
  static Map<String, String> in(Path root) {
    var found = new LinkedHashMap<String, String>();
    line(root.resolve("proc/sys/kernel/core_pattern"))
        .ifPresent(pattern -> found.put("core dumps", pattern + meaning(pattern)));
    line(root.resolve("sys/kernel/mm/ksm/run"))
        .ifPresent(run -> found.put("merged memory", run.equals(MERGES) ? MERGING : "off"));
    return found;
  }

  private static String meaning(String pattern) {
    if (pattern.startsWith("|")) {
      return "; root runs this for each crash, but not for those in sandboxes, which have a core"
          + " limit of 1 unless the server itself may have none (LimitCORE=0)";
    }
    if (pattern.startsWith("@")) {
      return "; who listens there is sent each crash, those in sandboxes too: sysctl"
          + " kernel.core_pattern=core keeps them inside";
    }
    return "";
  }

  private static Optional<String> line(Path file) {
    try {
      return Files.readString(file).lines().findFirst();
    } catch (IOException e) {
      return Optional.empty();
    }
  }
}
