package dev.carrel.engine.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Where this host mounts its control groups.
 *
 * @param first mount points of version 1 by controller
 * @param second the mount point of version 2, where there is one
 * @param secondControllers what version 2 controls; little or nothing where version 1 is in use too
 */
public record Hierarchies(
    Map<String, Path> first, Optional<Path> second, List<String> secondControllers) {
  private static final Path MOUNTS = Path.of("/proc/self/mountinfo");

  public Hierarchies {
    first = Map.copyOf(first);
    secondControllers = List.copyOf(secondControllers);
  }

  public static Hierarchies ofThisHost() {
    try {
      return parse(Files.readAllLines(MOUNTS));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Hierarchies parse(List<String> mounts) throws IOException {
    var first = new HashMap<String, Path>();
    Optional<Path> second = Optional.empty();
    for (String line : mounts) {
      String[] halves = line.split(" - ", 2);
      String[] kind = halves.length == 2 ? halves[1].split(" ", 3) : new String[0];
      if (kind.length < 3) {
        continue;
      }
      Path point = Path.of(halves[0].split(" ", -1)[4]);
      if (kind[0].equals("cgroup2")) {
        second = Optional.of(point);
      } else if (kind[0].equals("cgroup")) {
        for (String option : kind[2].split(",", -1)) {
          first.put(option, point);
        }
      }
    }
    List<String> controllers = List.of();
    if (second.isPresent() && Files.isReadable(second.get().resolve("cgroup.controllers"))) {
      String text = Files.readString(second.get().resolve("cgroup.controllers")).strip();
      controllers = text.isEmpty() ? List.of() : List.of(text.split(" ", -1));
    }
    return new Hierarchies(first, second, controllers);
  }

  /** Both versions at once, which some runtimes refuse: where the second one is to be hidden. */
  public Optional<Path> hybrid() {
    return first.containsKey("memory") ? second : Optional.empty();
  }

  /** The group of a process, wherever whoever started it has put it. */
  public ControlGroup groupOf(long pid) throws IOException {
    var folders = new HashMap<String, Path>();
    Path secondFolder = null;
    for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/cgroup"))) {
      String[] parts = line.split(":", 3);
      String relative = parts[2].substring(1);
      for (String controller : parts[1].split(",", -1)) {
        if (first.containsKey(controller)) {
          folders.put(controller, first.get(controller).resolve(relative));
        }
      }
      if (parts[1].isEmpty() && second.isPresent() && hybrid().isEmpty()) {
        secondFolder = second.get().resolve(relative);
      }
    }
    return new ControlGroup(folders, secondFolder);
  }

  /** The group of this name, below the top of every hierarchy. */
  public ControlGroup group(String path) {
    var folders = new HashMap<String, Path>();
    String relative = path.startsWith("/") ? path.substring(1) : path;
    first.forEach((controller, point) -> folders.put(controller, point.resolve(relative)));
    return new ControlGroup(
        folders,
        second.filter(_ -> hybrid().isEmpty()).map(point -> point.resolve(relative)).orElse(null));
  }
}
