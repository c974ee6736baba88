package dev.carrel.control.host;

import dev.carrel.spi.DataSize;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * What of the host is lent out.
 *
 * @param enabled whether anything is
 * @param allowed commands that nobody is asked about
 * @param blocked commands that nobody can allow
 * @param folders whose files may be read
 * @param writable folders whose files may be read and written
 * @param hidden names of files and folders that are kept back wherever they are
 * @param path where programs are looked for
 * @param environment variables that commands see beside their own
 * @param timeout of a command that says none; at most {@code maxTimeout}
 * @param maxTimeout of any command
 * @param maxOutput kept of each stream of a command
 * @param maxFile the largest file that is read, written or copied
 * @param maxConcurrent commands at once
 * @param maxMemory of a command and all that it starts, where the host has control groups
 * @param maxProcesses of a command, itself among them; the same
 */
public record HostSettings(
    boolean enabled,
    List<CommandPattern> allowed,
    List<CommandPattern> blocked,
    List<Path> folders,
    List<Path> writable,
    List<String> hidden,
    List<Path> path,
    Map<String, String> environment,
    Duration timeout,
    Duration maxTimeout,
    DataSize maxOutput,
    DataSize maxFile,
    int maxConcurrent,
    DataSize maxMemory,
    int maxProcesses) {
  /** Those that only tell something. */
  public static final List<String> USUALLY_ALLOWED =
      List.of(
          "date", "df -h", "free -h", "hostname", "id", "nproc", "uname -a", "uptime", "whoami");

  /** Those that run others, or as another, or longer than they are watched. */
  public static final List<String> USUALLY_BLOCKED =
      List.of(
          "at",
          "bash",
          "batch",
          "busybox",
          "chroot",
          "crontab",
          "dash",
          "dd",
          "doas",
          "env",
          "fish",
          "halt",
          "ksh",
          "mkfs",
          "mount",
          "nohup",
          "nsenter",
          "pkexec",
          "poweroff",
          "reboot",
          "setpriv",
          "setsid",
          "sh",
          "shutdown",
          "su",
          "sudo",
          "systemd-run",
          "unshare",
          "watch",
          "xargs",
          "zsh");

  public static final List<String> USUALLY_HIDDEN =
      List.of(
          ".aws",
          ".azure",
          ".docker",
          ".env",
          ".git-credentials",
          ".gnupg",
          ".kube",
          ".netrc",
          ".npmrc",
          ".pgpass",
          ".pypirc",
          ".ssh");

  public HostSettings {
    allowed = List.copyOf(allowed);
    blocked = List.copyOf(blocked);
    folders = List.copyOf(folders);
    writable = List.copyOf(writable);
    hidden = List.copyOf(hidden);
    path = List.copyOf(path);
    environment = Map.copyOf(environment);
    // Who lowers the most means commands that name no time, too.
    timeout = Collections.min(List.of(timeout, maxTimeout));
  }

  /** As it is unless the operator says otherwise. */
  public static HostSettings off() {
    return new HostSettings(
        false,
        USUALLY_ALLOWED.stream().map(CommandPattern::parse).toList(),
        USUALLY_BLOCKED.stream().map(CommandPattern::parse).toList(),
        List.of(),
        List.of(),
        USUALLY_HIDDEN,
        List.of(Path.of("/usr/local/bin"), Path.of("/usr/bin"), Path.of("/bin")),
        Map.of(),
        Duration.ofMinutes(1),
        Duration.ofMinutes(10),
        DataSize.ofMebibytes(1),
        DataSize.ofMebibytes(10),
        4,
        DataSize.ofMebibytes(1024),
        256);
  }
}
