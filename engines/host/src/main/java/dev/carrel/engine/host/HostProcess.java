package dev.carrel.engine.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

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

  /**
   * Those of this server's own user, outside of every sandbox, whose arguments are so, and those
   * they forked without a new program. Arguments alone say nothing: anybody chooses his own.
   */
  public static List<HostProcess> ours(Predicate<List<String>> arguments) {
    return ProcessHandle.allProcesses()
        .filter(process -> arguments.test(arguments(process.pid())) && isOurs(process.pid()))
        .flatMap(process -> find(process.pid()).stream())
        .toList();
  }

  /** Of our user, and with no other number than the one that we see, as in a sandbox. */
  private static boolean isOurs(long pid) {
    try {
      Path status = Path.of("/proc/" + pid + "/status");
      // The first line is the program's name, which may hold anything but a line's end.
      List<String> lines = Files.readAllLines(status, StandardCharsets.ISO_8859_1);
      return effectiveUser(lines) == user()
          && lines.stream()
              .filter(line -> line.startsWith("NSpid:"))
              .allMatch(line -> line.split("\t", -1).length == 2);
    } catch (IOException e) {
      return false; // it ended while we looked
    }
  }

  /** Whether this server is the host's root. */
  public static boolean isRoot() {
    return user() == 0;
  }

  /** Whom this server acts as. */
  static long user() {
    try {
      return effectiveUser(Files.readAllLines(Path.of("/proc/self/status")));
    } catch (IOException e) {
      return -1;
    }
  }

  /**
   * How much of this the server and what it starts may have at the very most.
   *
   * @param what in the words of /proc/self/limits, as in "locked memory"
   */
  public static long most(String what) {
    String name = "Max " + what + " ";
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/limits"))) {
        if (line.startsWith(name)) {
          String hard = line.substring(name.length()).strip().split(" +", 3)[1];
          return hard.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(hard);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw new IllegalArgumentException("no limit of " + what);
  }

  private static long effectiveUser(List<String> status) {
    return status.stream()
        .filter(line -> line.startsWith("Uid:"))
        .mapToLong(line -> Long.parseLong(line.split("\t", -1)[2]))
        .findFirst()
        .orElse(-1);
  }

  public boolean alive() {
    return find(pid).equals(Optional.of(this));
  }

  /** Whether it still runs with this argument; one that is about to end has none any more. */
  public boolean runsWith(String argument) {
    return arguments(pid).contains(argument) && alive();
  }

  public void kill() {
    ProcessHandle.of(pid).filter(_ -> alive()).ifPresent(ProcessHandle::destroyForcibly);
  }

  private static List<String> arguments(long pid) {
    try {
      byte[] line = Files.readAllBytes(Path.of("/proc/" + pid + "/cmdline"));
      return List.of(new String(line, StandardCharsets.UTF_8).split("\0", -1));
    } catch (IOException e) {
      return List.of(); // it ended while we looked
    }
  }
}
