package dev.carrel.engine.docker;

import dev.carrel.engine.host.FreshFolder;
import dev.carrel.engine.host.HostTree;
import dev.carrel.engine.host.MachineState;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/** Everything that one machine has on disk beside its container: {@code <run>/<id>/}. */
record MachineFolder(Kind kind, SandboxId id, Path path) {
  static final FileAttribute<Set<PosixFilePermission>> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  static MachineFolder in(Kind kind, Path runDirectory, SandboxId id) {
    return new MachineFolder(kind, id, runDirectory.resolve(id.value()));
  }

  /** A folder that the engine of this kind made, whatever is left in it. */
  static Optional<MachineFolder> recognise(Kind kind, Path path) {
    return Files.isRegularFile(path.resolve(kind.engineName() + ".properties"))
        ? Optional.of(
            new MachineFolder(kind, new SandboxId(String.valueOf(path.getFileName())), path))
        : Optional.empty();
  }

  /** The name of its container, by which the daemon finds it. */
  String container() {
    return "carrel-" + id.value();
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

  /** Whether its volume was mounted. */
  boolean hasVolume() {
    return Files.exists(volume());
  }

  /** Its volume is mounted from now on. */
  void noteVolume() throws IOException {
    Files.createFile(volume());
  }

  private Path volume() {
    return path.resolve("volume");
  }

  void make(MachineState state) throws IOException {
    new FreshFolder(path, kind.engineName()).make(state);
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

  private Path stateFile() {
    return path.resolve(kind.engineName() + ".properties");
  }

  void remove() throws IOException {
    HostTree.remove(path);
  }
}
