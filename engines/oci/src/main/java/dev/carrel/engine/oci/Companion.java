package dev.carrel.engine.oci;

import dev.carrel.engine.host.Complaint;
import dev.carrel.engine.host.ControlGroup;
import dev.carrel.engine.host.Hierarchies;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.ImageVolumes;
import dev.carrel.engine.host.MachineState;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Starts the process that accompanies a machine: it prepares what the runtime binds, runs the
 * runtime, stays to see how the machine ends, writes that down and cleans up. See {@code
 * guest/src/oci.c}. It outlives this server.
 */
final class Companion {
  private static final long SECONDS = 120;

  private final OciRuntime runtime;
  private final Path guestProgram;
  private final Path libDirectory;
  private final Path volumeDirectory;
  private final Path stateDirectory;
  private final Hierarchies hierarchies;

  Companion(OciRuntime runtime, Path runDirectory, Path libDirectory, Path volumeDirectory) {
    this.runtime = runtime;
    this.libDirectory = libDirectory;
    this.guestProgram = libDirectory.resolve("guest");
    this.volumeDirectory = volumeDirectory;
    this.stateDirectory = runDirectory.resolve(runtime.engineName());
    this.hierarchies = Hierarchies.ofThisHost();
  }

  Path image(VolumeId volume) {
    return ImageVolumes.image(volumeDirectory, volume);
  }

  /** Its control group; who is not root has the runtime make none. */
  ControlGroup group(SandboxId id) {
    return HostProcess.isRoot()
        ? hierarchies.group(Bundle.groupOf(id))
        : new ControlGroup(Map.of(), null);
  }

  /** Returns when the runtime says that the machine runs. */
  void run(
      MachineFolder folder, MachineState state, IdMap ids, Stage stage, @Nullable Path egressFolder)
      throws IOException {
    List<String> command = begin("run", folder);
    command.addAll(ids.companionOptions());
    command.addAll(stage.options());
    command.addAll(List.of("--bind", "guest=" + folder.socket().getParent()));
    command.addAll(List.of("--bind", "lib=" + libDirectory));
    if (egressFolder != null) {
      command.addAll(List.of("--bind", "egress=" + egressFolder));
    }
    if (state.volume() != null) {
      command.addAll(List.of("--volumes", volumeDirectory.toString()));
      command.addAll(List.of("--volume", state.volume().value()));
      command.addAll(List.of("--size", Long.toString(state.limits().disk().bytes())));
    }
    Optional<Path> events = group(folder.id()).oomEvents();
    events.ifPresent(file -> command.addAll(List.of("--events", file.toString())));
    if (finish(command, folder) != 0) {
      throw Complaint.of(folder.tail());
    }
  }

  /** Those that were started as {@link #begin} says, and their forks. */
  static List<HostProcess> processes(SandboxId id, Set<String> verbs) {
    return HostProcess.ours(
        arguments ->
            arguments.size() > 4
                && arguments.get(1).equals("oci")
                && verbs.contains(arguments.get(2))
                && arguments.get(3).equals("--id")
                && arguments.get(4).equals(id.value()));
  }

  /** Lets the runtime remove what it knows of the machine, whatever state that is in. */
  void delete(MachineFolder folder) throws IOException {
    if (!knows(folder.id())) {
      return;
    }
    List<String> command = begin("delete", folder);
    if (!HostProcess.isRoot()) {
      command.addAll(List.of("--ids", "one"));
    }
    if (finish(command, folder) != 0) {
      throw new IOException(runtime.engineName() + " cannot delete it: " + folder.tail());
    }
  }

  /** Each runtime has a folder or files for a machine, whose names begin with its id. */
  private boolean knows(SandboxId id) throws IOException {
    if (!Files.isDirectory(stateDirectory)) {
      return false;
    }
    try (DirectoryStream<Path> found = Files.newDirectoryStream(stateDirectory, id.value() + "*")) {
      return found.iterator().hasNext();
    }
  }

  /** Makes {@code to} of {@code from}; whoever has it stands still meanwhile. */
  void copyVolume(String from, String to, Optional<Long> companionPid) throws IOException {
    var command = new ArrayList<String>();
    command.addAll(List.of(guestProgram.toString(), "volume", "copy"));
    command.addAll(List.of(volumeDirectory.toString(), from, to));
    if (companionPid.isPresent()) {
      command.add(companionPid.get().toString());
      command.add(Path.of("/").relativize(Bundle.STAGE.resolve("workspace")).toString());
    }
    Path said = Files.createTempFile("carrel-", ".log");
    try {
      if (finish(command, said) != 0) {
        throw Complaint.of(Files.readString(said).strip());
      }
    } finally {
      Files.delete(said);
    }
  }

  private List<String> begin(String verb, MachineFolder folder) {
    var command = new ArrayList<String>();
    command.addAll(List.of(guestProgram.toString(), "oci", verb));
    command.addAll(List.of("--id", folder.id().value()));
    command.addAll(List.of("--folder", folder.path().toString()));
    command.addAll(List.of("--stage", Bundle.STAGE.toString()));
    runtime
        .hides(hierarchies)
        .ifPresent(path -> command.addAll(List.of("--hide", path.toString())));
    return command;
  }

  private int finish(List<String> command, MachineFolder folder) throws IOException {
    Path program =
        runtime
            .program()
            .orElseThrow(() -> new IOException(runtime.engineName() + " is not installed"));
    command.add("--");
    command.addAll(runtime.command(program, stateDirectory));
    return finish(command, folder.log());
  }

  /** Nothing of the server's own but where its user keeps what says whose ids are whose. */
  static void setEnvironment(ProcessBuilder builder) {
    String runtimeFolder = builder.environment().get("XDG_RUNTIME_DIR");
    builder.environment().clear();
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    if (runtimeFolder != null && !HostProcess.isRoot()) {
      builder.environment().put("XDG_RUNTIME_DIR", runtimeFolder);
    }
  }

  private static int finish(List<String> command, Path log) throws IOException {
    var builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectInput(new File("/dev/null"))
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    setEnvironment(builder);
    Process process = builder.start();
    try {
      if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("the runtime gave no answer in " + SECONDS + " s");
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the runtime worked", e);
    } finally {
      process.destroyForcibly();
    }
  }
}
