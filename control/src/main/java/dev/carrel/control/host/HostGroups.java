package dev.carrel.control.host;

import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where this server can make control groups for commands: beside itself, so that what bounds the
 * server bounds them too. Either version, as far as the host and the server's rights allow.
 *
 * @param memory the folder to make groups in that bound memory
 * @param processes the same for processes; with version 2 the same folder
 */
record HostGroups(Path memory, Path processes, boolean second) {
  private static final Logger LOG = LoggerFactory.getLogger(HostGroups.class);
  private static final String PREFIX = "carrel-host-";

  /** Empty where groups cannot be made; it is logged why. */
  static Optional<HostGroups> find() {
    try {
      Optional<HostGroups> found =
          read(
              Files.readAllLines(Path.of("/proc/self/mountinfo")),
              Files.readAllLines(Path.of("/proc/self/cgroup")));
      if (found.isPresent()) {
        found.get().sweep();
        found.get().make(DataSize.ofMebibytes(64), 8).close();
      }
      return found;
    } catch (IOException e) {
      LOG.warn("commands on the host have no limit of memory and processes: {}", e.toString());
      return Optional.empty();
    }
  }

  static Optional<HostGroups> read(List<String> mounts, List<String> groups) {
    var points = new HashMap<String, Path>();
    for (String line : mounts) {
      String[] halves = line.split(" - ", 2);
      String[] kind = halves.length == 2 ? halves[1].split(" ", 3) : new String[0];
      if (kind.length < 3) {
        continue;
      }
      Path point = Path.of(halves[0].split(" ", -1)[4]);
      if (kind[0].equals("cgroup2")) {
        points.put("", point);
      } else if (kind[0].equals("cgroup")) {
        for (String option : kind[2].split(",", -1)) {
          points.put(option, point);
        }
      }
    }
    Path memory = folder(points, groups, "memory");
    Path processes = folder(points, groups, "pids");
    if (memory != null && processes != null) {
      return Optional.of(new HostGroups(memory, processes, false));
    }
    Path own = folder(points, groups, "");
    Path point = points.get("");
    if (own == null || point == null) {
      return Optional.empty();
    }
    // A group of version 2 with processes in it has no groups with limits below it, but the top.
    Path parent = own.equals(point) ? own : own.resolve("..").normalize();
    return Optional.of(new HostGroups(parent, parent, true));
  }

  private static @Nullable Path folder(
      Map<String, Path> points, List<String> groups, String controller) {
    Path point = points.get(controller);
    for (String line : groups) {
      String[] parts = line.split(":", 3);
      if (point != null
          && parts.length == 3
          && List.of(parts[1].split(",", -1)).contains(controller)) {
        return point.resolve(parts[2].substring(1)).normalize();
      }
    }
    return null;
  }

  HostGroup make(DataSize maxMemory, int maxProcesses) throws IOException {
    String name = PREFIX + ProcessHandle.current().pid() + "-" + UUID.randomUUID();
    var group = group(name);
    boolean bounded = false;
    try {
      group.bound(maxMemory, maxProcesses);
      bounded = true;
      return group;
    } finally {
      if (!bounded) {
        group.close();
      }
    }
  }

  private HostGroup group(String name) {
    return new HostGroup(memory.resolve(name), processes.resolve(name), second);
  }

  /** Ends what a server that is gone has left. */
  private void sweep() throws IOException {
    var left = new ArrayList<String>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(processes, PREFIX + "*")) {
      for (Path one : all) {
        left.add(one.getFileName().toString());
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    for (String name : left) {
      String pid = name.substring(PREFIX.length()).split("-", 2)[0];
      if (pid.matches("[0-9]{1,10}") && ProcessHandle.of(Long.parseLong(pid)).isEmpty()) {
        group(name).close();
      }
    }
  }
}
