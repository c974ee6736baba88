package dev.carrel.control.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which paths of the host are lent out. Paths are judged as they are written: no link is followed.
 * Only a folder that is lent out may be named over a link, and then the place that it leads to is
 * judged as well.
 */
final class HostFolders {
  private static final int MAX_PATH = 4096;
  private static final List<Path> NEVER =
      List.of(Path.of("/proc"), Path.of("/sys"), Path.of("/dev"), Path.of("/run/carrel"));

  private final List<Folder> folders = new ArrayList<>();
  private final Set<String> hidden;
  private final List<Path> never = new ArrayList<>(NEVER);

  private record Folder(Path name, Path real, boolean writable) {}

  /**
   * A place in a folder.
   *
   * @param root an open folder's path without links
   * @param names from there on, each to be opened without following a link
   */
  record Place(Path root, List<String> names, Path path) {
    Place {
      names = List.copyOf(names);
    }
  }

  HostFolders(HostSettings settings, Path dataDirectory) {
    this.hidden = new HashSet<>(settings.hidden());
    never.add(dataDirectory.toAbsolutePath().normalize());
    never.add(real(dataDirectory));
    if (settings.enabled()) {
      settings.folders().forEach(folder -> folders.add(new Folder(folder, real(folder), false)));
      settings.writable().forEach(folder -> folders.add(new Folder(folder, real(folder), true)));
    }
    folders.sort(Comparator.comparing(Folder::writable).reversed());
  }

  /** The path, in the form in which it is compared. */
  static Path path(String field, String text) {
    Words.check(field, text, MAX_PATH);
    Path path = Path.of(text.isEmpty() ? "." : text);
    if (!path.isAbsolute() || !path.normalize().equals(path)) {
      throw SandboxException.invalid(field, "must be a whole path from / on, without '.' and '..'");
    }
    return path;
  }

  /** Refuses what nobody can allow. */
  void requireOpen(Path path) {
    for (Path one : never) {
      if (path.startsWith(one)) {
        throw blocked(path);
      }
    }
    for (Path name : path) {
      if (hidden.contains(name.toString())) {
        throw blocked(path);
      }
    }
  }

  /** Refuses it also for where it really is: a folder's name may lead over a link. */
  Place requireOpen(Place place) {
    Path path = real(place.root);
    for (String name : place.names) {
      path = path.resolve(name);
    }
    requireOpen(path);
    return place;
  }

  /** Whether any of these words leads to what nobody can allow. */
  boolean touches(List<String> words, Path from) {
    for (String word : words) {
      for (String part : new String[] {word, word.substring(word.indexOf('=') + 1)}) {
        Path path = from.resolve(part.isEmpty() ? "." : part).normalize();
        Path real = real(path);
        if (never.stream()
            .skip(NEVER.size())
            .anyMatch(one -> path.startsWith(one) || real.startsWith(one))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Where it is, if it is in a folder that is lent out. */
  Optional<Place> find(Path path, boolean write) {
    for (Folder folder : folders) {
      if (folder.writable || !write) {
        for (Path root : new Path[] {folder.name, folder.real}) {
          if (path.startsWith(root)) {
            return Optional.of(place(folder.real, root.relativize(path), path));
          }
        }
      }
    }
    return Optional.empty();
  }

  /** For a path that was allowed by itself. */
  static Place anywhere(Path path) {
    return place(Path.of("/"), Path.of("/").relativize(path), path);
  }

  /** Where commands run: in a folder that is lent out, or nowhere in particular. */
  Path workFolder(@Nullable String asked) {
    if (asked == null) {
      return folders.isEmpty() ? Path.of("/") : folders.getFirst().real;
    }
    Path path = path("cwd", asked);
    requireOpen(path);
    Path real = real(path);
    requireOpen(real);
    boolean within = folders.stream().anyMatch(folder -> real.startsWith(folder.real));
    if (!within || !Files.isDirectory(real)) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "cwd is in none of the folders that are lent out")
          .withHint("see them with: carrel host access list");
    }
    return real;
  }

  List<String> names(boolean writable) {
    return folders.stream()
        .filter(folder -> folder.writable == writable)
        .map(folder -> folder.name.toString())
        .toList();
  }

  private static Place place(Path root, Path below, Path path) {
    var names = new ArrayList<String>();
    if (!below.toString().isEmpty()) {
      below.forEach(name -> names.add(name.toString()));
    }
    return new Place(root, names, path);
  }

  private static Path real(Path path) {
    try {
      return path.toRealPath();
    } catch (IOException e) {
      // Not there (yet): then it is what it is called.
      return path.toAbsolutePath().normalize();
    }
  }

  private static SandboxException blocked(Path path) {
    return new SandboxException(
        ErrorCode.FORBIDDEN,
        Text.printable(path.toString(), 200) + " is kept back: nobody can allow it");
  }
}
