package dev.carrel.engine.namespaces;

import java.nio.file.Path;

/**
 * Where one controller's files of a sandbox are.
 *
 * @param version 1 or 2
 */
record Cgroup(String controller, int version, Path folder) {
  /** {@code controller version path}. */
  static Cgroup parse(String text) {
    String[] parts = text.split(" ", 3);
    return new Cgroup(parts[0], Integer.parseInt(parts[1]), Path.of(parts[2]));
  }
}
