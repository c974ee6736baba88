package dev.carrel.engine.host;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The folder of a machine that is being made. It appears together with its first state: engines
 * share the folder that they are in, and know their own by the state. Until then its name says
 * whose it is, for the server that comes after one that was killed.
 */
public record FreshFolder(Path path, String engine) {
  private static final FileAttribute<Set<PosixFilePermission>> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  /** Leaves nothing behind when it throws. */
  public void make(MachineState state) throws IOException {
    if (Files.exists(path)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    Path next = path.resolveSibling(prefix(engine) + path.getFileName());
    Files.createDirectory(next, OURS);
    try {
      state.write(next.resolve(engine + ".properties"));
      Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException | RuntimeException e) {
      HostTree.remove(next);
      throw e;
    }
  }

  /**
   * Removes what an engine had not finished when its server was killed.
   *
   * @param known whether a machine is being made by this server
   */
  public static void sweep(Path runDirectory, String engine, Predicate<SandboxId> known)
      throws IOException {
    for (Path left : list(runDirectory)) {
      Optional<SandboxId> id = machine(left, engine);
      if (id.isPresent() && !known.test(id.get())) {
        HostTree.remove(left);
      }
    }
  }

  private static List<Path> list(Path runDirectory) throws IOException {
    if (!Files.isDirectory(runDirectory)) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(runDirectory)) {
      return paths.toList();
    }
  }

  private static Optional<SandboxId> machine(Path left, String engine) {
    String name = String.valueOf(left.getFileName());
    try {
      return name.startsWith(prefix(engine))
          ? Optional.of(new SandboxId(name.substring(prefix(engine).length())))
          : Optional.empty();
    } catch (SandboxException e) {
      return Optional.empty(); // nobody's machine is called so
    }
  }

  /** Before the id: whatever begins like one, the engine {@code native} may take for its own. */
  private static String prefix(String engine) {
    return engine + ".";
  }
}
