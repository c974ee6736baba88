package dev.carrel.engine.oci;

import dev.carrel.engine.host.Hierarchies;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import dev.carrel.spi.VolumeId;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Starts the process that accompanies a machine: it prepares what the runtime binds, runs the
 * runtime, stays to see how the machine ends, writes that down and cleans up. See {@code
 * guest/src/oci.c}. It outlives this server.
 */
final class Companion {
  private static final long SECONDS = 120;
  private static final int MAX_MESSAGE = 700;

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

  Hierarchies hierarchies() {
    return hierarchies;
  }

  /** Returns when the runtime says that the machine runs. */
  void run(MachineFolder folder, MachineFolder.State state, @Nullable Path egressFolder)
      throws IOException {
    List<String> command = begin("run", folder);
    command.addAll(List.of("--bind", "root=" + folder.root()));
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
    state.base().ifPresent(base -> command.addAll(List.of("--base", Integer.toString(base))));
    Optional<Path> events = hierarchies.group(Bundle.groupOf(folder.id())).oomEvents();
    events.ifPresent(file -> command.addAll(List.of("--events", file.toString())));
    if (finish(command, folder) != 0) {
      throw failure(folder.tail());
    }
  }

  /** Lets the runtime remove what it knows of the machine, whatever state that is in. */
  void delete(MachineFolder folder) throws IOException {
    if (Files.isDirectory(stateDirectory.resolve(folder.id().value()))
        && finish(begin("delete", folder), folder) != 0) {
      throw new IOException(runtime.engineName() + " cannot delete it: " + folder.tail());
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
        throw failure(Files.readString(said).strip());
      }
    } finally {
      Files.delete(said);
    }
  }

  /** Whether a loop device has it; that ends a little after the last process that saw it. */
  boolean holds(VolumeId volume) {
    String image = volumeDirectory.resolve(volume.value() + ".img").toString();
    try (Stream<Path> devices = Files.list(Path.of("/sys/block"))) {
      return devices
          .filter(device -> String.valueOf(device.getFileName()).startsWith("loop"))
          .anyMatch(device -> isBackedBy(device.resolve("loop/backing_file"), image));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isBackedBy(Path file, String image) {
    try {
      return Files.readString(file).strip().equals(image);
    } catch (IOException e) {
      return false; // free, or let go while we looked
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

  private static int finish(List<String> command, Path log) throws IOException {
    var builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectInput(new File("/dev/null"))
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    builder.environment().clear();
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
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

  /** The last line with a kind, and what the runtime said before it. */
  static SandboxException failure(String log) {
    String message =
        "start: " + Text.printable(log.replace('\t', ' ').replace('\n', ' '), MAX_MESSAGE);
    String kind =
        log.lines()
            .filter(line -> line.indexOf('\t') > 0)
            .map(line -> line.substring(0, line.indexOf('\t')))
            .reduce("engine", (_, last) -> last);
    return switch (kind) {
      case "isolation" -> new SandboxException(ErrorCode.ISOLATION_NOT_AVAILABLE, message);
      case "conflict" -> new SandboxException(ErrorCode.WRONG_STATE, message);
      case "not_found" -> new SandboxException(ErrorCode.VOLUME_NOT_FOUND, message);
      case "no_space" -> new SandboxException(ErrorCode.NO_SPACE, message);
      default -> new SandboxException(ErrorCode.ENGINE_FAILED, message);
    };
  }
}
