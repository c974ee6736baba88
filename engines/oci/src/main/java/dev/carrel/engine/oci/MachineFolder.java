package dev.carrel.engine.oci;

import dev.carrel.engine.host.FreshFolder;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.HostTree;
import dev.carrel.engine.host.MachineState;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;

/** Everything that one machine has on disk: {@code <run>/<id>/}. Gone, the machine is gone. */
record MachineFolder(OciRuntime runtime, SandboxId id, Path path) {
  static final FileAttribute<Set<PosixFilePermission>> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private static final int SHOWN_LOG = 800;

  static MachineFolder in(OciRuntime runtime, Path runDirectory, SandboxId id) {
    return new MachineFolder(runtime, id, runDirectory.resolve(id.value()));
  }

  /** A folder that the engine of this runtime made, whatever is left in it. */
  static Optional<MachineFolder> recognise(OciRuntime runtime, Path path) {
    return Files.isRegularFile(path.resolve(runtime.engineName() + ".properties"))
        ? Optional.of(
            new MachineFolder(runtime, new SandboxId(String.valueOf(path.getFileName())), path))
        : Optional.empty();
  }

  /** Alone in a folder that the machine sees and only its guest can enter. */
  Path socket() {
    return path.resolve("guest/guest.sock");
  }

  Path report() {
    return path.resolve("guest/report");
  }

  Path root() {
    return path.resolve("root");
  }

  Path log() {
    return path.resolve("log");
  }

  private Path stateFile() {
    return path.resolve(runtime.engineName() + ".properties");
  }

  void make(MachineState state) throws IOException {
    new FreshFolder(path, runtime.engineName()).make(state);
  }

  void write(MachineState state) throws IOException {
    state.write(stateFile());
  }

  MachineState read() throws IOException {
    return MachineState.read(stateFile());
  }

  /** The same; empty where none was written, or none that makes sense. */
  Optional<MachineState> state() throws IOException {
    return MachineState.find(stateFile());
  }

  /** How the first process ended, in the companion's words; empty while it runs. */
  Optional<Properties> end() throws IOException {
    try {
      return Optional.of(MachineState.properties(path.resolve("end.properties")));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** The first process as the runtime wrote it down, if it came that far. */
  Optional<HostProcess> writtenPid() {
    try {
      return HostProcess.find(Long.parseLong(Files.readString(path.resolve("pid")).strip()));
    } catch (IOException | NumberFormatException e) {
      return Optional.empty(); // there is none, or it was not written to its end
    }
  }

  /** Whether its volume was mounted. */
  boolean hasMounted() {
    return Files.exists(path.resolve("volume"));
  }

  /** The size of the volume that was mounted. */
  DataSize volumeSize() throws IOException {
    return new DataSize(Long.parseLong(Files.readString(path.resolve("volume")).strip()));
  }

  String tail() {
    try {
      String text = Files.readString(log(), StandardCharsets.ISO_8859_1).strip();
      return text.substring(Math.max(0, text.length() - SHOWN_LOG));
    } catch (IOException e) {
      return "";
    }
  }

  /**
   * Lets the ids of the machine read what there is so far, whatever the server's umask says. The
   * way here stays closed to them: they see what is put on the stage.
   */
  void show() throws IOException {
    Files.createFile(log());
    if (!Files.getPosixFilePermissions(log()).contains(PosixFilePermission.OTHERS_READ)) {
      try (Stream<Path> all = Files.list(path)) {
        HostTree.show(all.toList());
      }
    }
  }

  void remove() throws IOException {
    HostTree.remove(path);
  }
}
