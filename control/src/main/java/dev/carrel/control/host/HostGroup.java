package dev.carrel.control.host;

import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control group of one command on the host: what it may hold, and who belongs to it, wherever
 * the parents of these went. For one thread at a time.
 */
final class HostGroup implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HostGroup.class);
  private static final Duration STEP = Duration.ofMillis(5);
  private static final int MAX_SWEEPS = 400;
  // The shell joins the groups before there is a command, which so cannot start anything outside
  // of them. The command is its arguments, which it does not read.
  private static final String JOIN =
      "for group in \"$1\" \"$2\"; do echo $$ >\"$group/cgroup.procs\" || exit 126; done;"
          + " shift 2; unset PWD OLDPWD SHLVL; exec \"$@\"";

  private final Path memory;
  private final Path processes;
  private final boolean second;

  HostGroup(Path memory, Path processes, boolean second) {
    this.memory = memory;
    this.processes = processes;
    this.second = second;
  }

  void bound(DataSize maxMemory, int maxProcesses) throws IOException {
    for (Path folder : folders()) {
      Files.createDirectory(folder);
    }
    String bytes = Long.toString(maxMemory.bytes());
    if (second) {
      Files.writeString(memory.resolve("memory.max"), bytes);
      writeIfThere(memory.resolve("memory.swap.max"), "0");
    } else {
      Files.writeString(memory.resolve("memory.limit_in_bytes"), bytes);
      writeIfThere(memory.resolve("memory.memsw.limit_in_bytes"), bytes);
    }
    Files.writeString(processes.resolve("pids.max"), Integer.toString(maxProcesses));
  }

  /** The command that runs this one inside. */
  List<String> command(List<String> command) {
    var joined =
        new ArrayList<>(
            List.of("/bin/sh", "-c", JOIN, "sh", memory.toString(), processes.toString()));
    joined.addAll(command);
    return joined;
  }

  /** Kills all that is in it; nobody can join them meanwhile. */
  void kill() throws IOException {
    try {
      Files.writeString(processes.resolve("pids.max"), "0");
      writeIfThere(processes.resolve("cgroup.kill"), "1");
      for (int i = 0; i < MAX_SWEEPS; i++) {
        List<String> left = Files.readAllLines(processes.resolve("cgroup.procs"));
        if (left.isEmpty()) {
          return;
        }
        for (String pid : left) {
          ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
        }
        LockSupport.parkNanos(STEP.toNanos());
      }
      LOG.error("processes of a command on the host cannot be killed: {}", processes);
    } catch (NoSuchFileException e) {
      // It was never made, or is gone already.
      return;
    }
  }

  @Override
  public void close() {
    try {
      kill();
      for (Path folder : folders()) {
        remove(folder);
      }
    } catch (IOException e) {
      LOG.warn("the control group of a command on the host is left: {}", e.toString());
    }
  }

  private static void remove(Path folder) throws IOException {
    for (int i = 0; ; i++) {
      try {
        Files.deleteIfExists(folder);
        return;
      } catch (IOException e) {
        // The kernel lets go of a process a moment after its end.
        if (i == MAX_SWEEPS) {
          throw e;
        }
        LockSupport.parkNanos(STEP.toNanos());
      }
    }
  }

  private Set<Path> folders() {
    var folders = new LinkedHashSet<Path>();
    folders.add(memory);
    folders.add(processes);
    return folders;
  }

  private static void writeIfThere(Path file, String value) throws IOException {
    if (Files.exists(file)) {
      Files.writeString(file, value);
    }
  }
}
