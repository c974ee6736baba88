package dev.carrel.engine.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What is still on the host that carries a certain name: an honest count after a removal. */
public final class Leftovers {
  private static final int CGROUP_DEPTH = 8;

  private Leftovers() {}

  /** Processes, mounts, cgroups and files below the folder that have the word in their name. */
  public static List<String> of(String word, Path folder) {
    return of(List.of(word), folder);
  }

  /** The same for any of several words, in one look around. */
  public static List<String> of(Collection<String> words, Path folder) {
    Predicate<String> named = text -> words.stream().anyMatch(text::contains);
    var found = new ArrayList<String>();
    for (long pid : processes(named)) {
      found.add("process " + pid + ": " + commandLine(pid));
    }
    for (String line : lines(Path.of("/proc/self/mountinfo"))) {
      if (named.test(line)) {
        found.add("mount " + line);
      }
    }
    found.addAll(paths(named, Path.of("/sys/fs/cgroup"), CGROUP_DEPTH));
    found.addAll(paths(named, folder, Integer.MAX_VALUE));
    return found;
  }

  /** Loop devices of this host that hold a file below the folder. */
  public static List<String> loops(Path folder) {
    try (Stream<Path> devices = Files.list(Path.of("/sys/block"))) {
      return devices
          .map(device -> device.getFileName() + ": " + backingFile(device))
          .filter(text -> text.contains(": " + folder + "/"))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String backingFile(Path device) {
    try {
      return Files.readString(device.resolve("loop/backing_file")).strip();
    } catch (IOException e) {
      return ""; // another kind, free, or let go while we looked
    }
  }

  /** Live processes of this host with the word in their command line. */
  public static List<Long> processes(String word) {
    return processes(text -> text.contains(word));
  }

  /**
   * The same without their children: one that was cloned a moment ago still has its parent's
   * command line.
   */
  public static List<Long> parents(String word) {
    List<Long> all = processes(word);
    return all.stream()
        .filter(
            pid ->
                ProcessHandle.of(pid)
                    .flatMap(ProcessHandle::parent)
                    .filter(parent -> all.contains(parent.pid()))
                    .isEmpty())
        .toList();
  }

  private static List<Long> processes(Predicate<String> named) {
    return ProcessHandle.allProcesses()
        .map(ProcessHandle::pid)
        .filter(pid -> named.test(commandLine(pid)))
        .toList();
  }

  private static String commandLine(long pid) {
    try {
      byte[] arguments = Files.readAllBytes(Path.of("/proc/" + pid + "/cmdline"));
      return new String(arguments, StandardCharsets.UTF_8).replace('\0', ' ');
    } catch (IOException e) {
      return ""; // it ended while we looked
    }
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> paths(Predicate<String> named, Path folder, int depth) {
    var found = new ArrayList<String>();
    if (!Files.isDirectory(folder)) {
      return found;
    }
    var visitor =
        new SimpleFileVisitor<Path>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
            return visitFile(path, attributes);
          }

          @Override
          public FileVisitResult visitFile(Path path, BasicFileAttributes attributes) {
            if (path.getFileName() != null && named.test(path.getFileName().toString())) {
              found.add("path " + path);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path path, IOException failure) {
            return FileVisitResult.CONTINUE; // gone meanwhile
          }

          @Override
          public FileVisitResult postVisitDirectory(Path path, @Nullable IOException failure) {
            return FileVisitResult.CONTINUE; // gone while it was read
          }
        };
    try {
      Files.walkFileTree(folder, Set.of(), depth, visitor);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return found;
  }

  /**
   * Removes a folder with all it holds.
   *
   * @throws IllegalArgumentException it is not absolute: a test that failed before it made its
   *     folder would remove the one that it runs in, sources and all
   */
  public static void delete(Path folder) {
    if (!folder.isAbsolute()) {
      throw new IllegalArgumentException("not a folder that a test has made: '" + folder + "'");
    }
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
