package dev.carrel.control.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Finds what a command would start, and all the names that it goes by. */
final class Programs {
  private static final int MAX_LINKS = 40;

  private final List<Path> path;

  Programs(List<Path> path) {
    this.path = List.copyOf(path);
  }

  /**
   * What a word names.
   *
   * @param file to start: its name is what programs of many names go by
   * @param names its own and those of every link on the way to it, without folders and with
   */
  record Program(Path file, Set<String> names) {
    Program {
      names = Set.copyOf(names);
    }
  }

  Program find(String word) {
    if (!word.contains("/")) {
      for (Path folder : path) {
        Path file = folder.resolve(word);
        if (Files.isRegularFile(file) && Files.isExecutable(file)) {
          return program(file);
        }
      }
      throw new SandboxException(
          ErrorCode.FILE_NOT_FOUND, "there is no program " + Text.printable(word, 100));
    }
    Path file = Path.of(word);
    if (!file.isAbsolute() || !file.normalize().toString().equals(word)) {
      throw SandboxException.invalid(
          "command", "must name a program alone or by its whole path, without a way up");
    }
    if (!Files.isRegularFile(file) || !Files.isExecutable(file)) {
      throw new SandboxException(
          ErrorCode.FILE_NOT_FOUND, "there is no program " + Text.printable(word, 100));
    }
    return program(file);
  }

  /** The end of a path. */
  static String lastName(String word) {
    return word.substring(word.lastIndexOf('/') + 1);
  }

  private static Program program(Path file) {
    var names = new LinkedHashSet<String>();
    try {
      Path step = file;
      for (int i = 0; i < MAX_LINKS; i++) {
        add(names, step);
        if (!Files.isSymbolicLink(step)) {
          break;
        }
        step = step.resolveSibling(Files.readSymbolicLink(step)).normalize();
      }
      Path real = file.toRealPath();
      add(names, real);
      requireSafe(real);
      return new Program(file, names);
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.FILE_NOT_FOUND, "the program " + file + " cannot be looked at", e);
    }
  }

  private static void add(Set<String> names, Path file) {
    names.add(file.toString());
    names.add(lastName(file.toString()));
  }

  // Whoever can replace the file chooses what an approval of it means.
  private static void requireSafe(Path real) throws IOException {
    for (Path part : new Path[] {real, real.getParent()}) {
      Set<PosixFilePermission> permissions =
          Files.getPosixFilePermissions(part, LinkOption.NOFOLLOW_LINKS);
      if (permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
        throw new SandboxException(ErrorCode.FORBIDDEN, part + " can be changed by anybody")
            .withHint("a program that is run on the host must be its owner's to change only");
      }
    }
  }
}
