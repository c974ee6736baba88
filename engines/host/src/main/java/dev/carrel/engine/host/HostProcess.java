package dev.carrel.engine.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A process of this host, told from a later one with the same number by when it started.
 *
 * @param started in the kernel's ticks since boot
 */
public record HostProcess(long pid, long started) {
  /** The process that now has this number; none when it only waits to be reaped. */
  public static Optional<HostProcess> find(long pid) {
    try {
      String stat =
          Files.readString(Path.of("/proc/" + pid + "/stat"), StandardCharsets.ISO_8859_1);
      // The second field is the program's name, which may hold anything, also ") Z 1".
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      boolean ended = fields[0].equals("Z") || fields[0].equals("X");
      return ended
          ? Optional.empty()
          : Optional.of(new HostProcess(pid, Long.parseLong(fields[19])));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** Those that were started with this argument, and those they forked without a new program. */
  public static List<HostProcess> withArgument(String argument) {
    return ProcessHandle.allProcesses()
        .filter(process -> hasArgument(process.pid(), argument))
        .flatMap(process -> find(process.pid()).stream())
        .toList();
  }

  /** Whether this server is the host's root. */
  public static boolean isRoot() {
    return user() == 0;
  }

  /** Whom this server acts as. */
  static long user() {
    try {
      return Files.readAllLines(Path.of("/proc/self/status")).stream()
          .filter(line -> line.startsWith("Uid:"))
          .mapToLong(line -> Long.parseLong(line.split("\t", -1)[2]))
          .findFirst()
          .orElse(-1);
    } catch (IOException e) {
      return -1;
    }
  }

  public boolean alive() {
    return find(pid).equals(Optional.of(this));
  }

  /** Whether it still runs with this argument; one that is about to end has none any more. */
  public boolean runsWith(String argument) {
    return hasArgument(pid, argument) && alive();
  }

  public void kill() {
    ProcessHandle.of(pid).filter(_ -> alive()).ifPresent(ProcessHandle::destroyForcibly);
  }

  private static boolean hasArgument(long pid, String argument) {
    try {
      byte[] line = Files.readAllBytes(Path.of("/proc/" + pid + "/cmdline"));
      return Arrays.asList(new String(line, StandardCharsets.UTF_8).split("\0", -1))
          .contains(argument);
    } catch (IOException e) {
      return false; // it ended while we looked
    }
  }
}
