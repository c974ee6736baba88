package dev.carrel.engine.process;

import dev.carrel.engine.host.GuestSocket;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.Measures;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs each guest as a plain process of the server's own user. Nothing is isolated and nothing is
 * limited, and everything it says about itself says so. For tests, and for machines where nothing
 * else works.
 */
final class ProcessEngine implements Engine {
  static final String NAME = "process";

  static final Isolation ISOLATION = Measures.none("the engine 'process' has none");

  private static final Duration START = Duration.ofSeconds(10);
  private static final int MAX_SOCKET_PATH = 107;
  private static final int SHOWN_LOG = 500;
  private static final System.Logger LOG = System.getLogger(ProcessEngine.class.getName());

  private final Path runDirectory;
  private final Path guestProgram;
  private final ProcessVolumes volumes;
  private final ReentrantLock starting = new ReentrantLock();
  private final Set<SandboxId> started = ConcurrentHashMap.newKeySet();

  ProcessEngine(EngineSettings settings) {
    this.runDirectory = settings.runDirectory().toAbsolutePath();
    this.volumes = new ProcessVolumes(settings.volumeDirectory().toAbsolutePath());
    this.guestProgram = settings.libDirectory().toAbsolutePath().resolve("guest");
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    var problems = new ArrayList<String>();
    boolean usable = Files.isExecutable(guestProgram);
    if (!usable) {
      problems.add("there is no program " + guestProgram + "; build the guest");
    }
    problems.add("code runs as the server's own user and can do all that it can; use 'native'");
    return new Capabilities(NAME, "none", usable, ISOLATION, problems);
  }

  @Override
  public Machine start(SandboxId id, MachineSpec spec) {
    spec.requireReadOnlyRoot(this);
    if (spec.image() instanceof RootImage.Folder(Path path)) {
      throw failed("image", "only the host's own files can be used, not " + path, null)
          .withHint("choose image 'host' or engine 'native'");
    }
    MachineFolder folder = MachineFolder.in(runDirectory, id);
    requireShort(folder.socket());
    started.add(id);
    starting.lock();
    try {
      Files.createDirectories(runDirectory, ProcessVolumes.OURS);
      if (spec.volume() != null) {
        requireFree(spec.volume());
      }
      folder.create(spec);
    } catch (IOException e) {
      throw failed("folder", "cannot make " + folder.path() + ": " + e, e);
    } finally {
      starting.unlock();
    }
    try {
      return launch(folder, spec);
    } catch (IOException | RuntimeException e) {
      undo(folder, e);
      throw e instanceof SandboxException known ? known : failed("guest", String.valueOf(e), e);
    }
  }

  @Override
  public List<Machine> recover() {
    var found = new ArrayList<Machine>();
    try (Stream<Path> folders =
        Files.isDirectory(runDirectory) ? Files.list(runDirectory) : Stream.empty()) {
      for (Path path : folders.toList()) {
        Optional<MachineFolder> folder = MachineFolder.recognise(path);
        if (folder.isPresent() && !started.contains(folder.get().id())) {
          recover(folder.get()).ifPresent(found::add);
        }
      }
    } catch (IOException e) {
      throw failed("recovery", "cannot read " + runDirectory + ": " + e, e);
    }
    return found;
  }

  @Override
  public void close() {}

  @Override
  public Optional<Volumes> volumes() {
    return Optional.of(volumes);
  }

  /** A volume is one machine's at a time; which has it stands in the machine's folder. */
  private void requireFree(VolumeId volume) throws IOException {
    try (Stream<Path> folders = Files.list(runDirectory)) {
      for (Path path : folders.toList()) {
        Optional<MachineFolder> other = MachineFolder.recognise(path);
        if (other.isPresent() && uses(other.get(), volume)) {
          throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "start, volume: " + volume + " is in use by " + other.get().id());
        }
      }
    }
  }

  private static boolean uses(MachineFolder machine, VolumeId volume) throws IOException {
    try {
      return machine.volume().equals(Optional.of(volume))
          && machine.guest().map(HostProcess::alive).orElse(true);
    } catch (NoSuchFileException e) {
      return false; // removed since it was listed
    }
  }

  private Machine launch(MachineFolder folder, MachineSpec spec) throws IOException {
    Path workspace = spec.volume() == null ? folder.makeWorkspace() : volumes.open(spec.volume());
    List<String> command = new ArrayList<>();
    // A session of its own, so that Ctrl-C in the server's terminal does not end it.
    command.addAll(List.of("setsid", guestProgram.toString(), "init"));
    command.addAll(List.of("--socket", folder.socket().toString()));
    command.addAll(List.of("--workspace", workspace.toString()));
    if (spec.egressSocket() != null) {
      command.addAll(List.of("--egress", spec.egressSocket().toString()));
      // The loopback is the host's own: each guest takes a port that is free.
      command.addAll(List.of("--egress-port-file", folder.portFile().toString()));
    }
    var builder =
        new ProcessBuilder(command)
            .directory(workspace.toFile())
            .redirectInput(new File("/dev/null"))
            .redirectErrorStream(true)
            .redirectOutput(folder.log().toFile());
    // Commands can read the guest's environment here, so the server's must not be in it.
    String path = builder.environment().getOrDefault("PATH", "/usr/bin:/bin");
    builder.environment().clear();
    builder.environment().put("PATH", path);
    Process child = builder.start();
    HostProcess guest =
        HostProcess.find(child.pid())
            .orElseThrow(() -> failed("guest", "it ended at once: " + log(folder), null));
    folder.record(spec, guest);
    awaitAnswer(folder, child);
    return new ProcessMachine(folder, spec.limits(), guest, child);
  }

  private static void awaitAnswer(MachineFolder folder, Process child) throws IOException {
    long end = System.nanoTime() + START.toNanos();
    IOException last = new IOException("it never answered");
    while (System.nanoTime() - end < 0) {
      if (!child.isAlive()) {
        throw failed("guest", "it ended with code " + child.exitValue() + ": " + log(folder), null);
      }
      try {
        if (GuestSocket.answers(folder.socket())) {
          return;
        }
      } catch (IOException e) {
        last = e; // it does not listen yet
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
    }
    throw last;
  }

  /** One that cannot be recovered is no reason to have none of the others. */
  private static Optional<Machine> recover(MachineFolder folder) {
    try {
      return adopt(folder);
    } catch (IOException | RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot recover " + folder.path(), e);
      return Optional.empty();
    }
  }

  private static Optional<Machine> adopt(MachineFolder folder) throws IOException {
    Optional<HostProcess> guest = folder.guest().filter(HostProcess::alive);
    if (guest.isPresent()) {
      return Optional.of(new ProcessMachine(folder, folder.limits(), guest.get(), null));
    }
    if (folder.guest().isEmpty()) {
      // The server died between starting the guest and writing its number down.
      ProcessMachine.processes(folder).forEach(HostProcess::kill);
    }
    ProcessMachine.sweep(folder);
    return Optional.empty();
  }

  private static void undo(MachineFolder folder, Exception failure) {
    try {
      ProcessMachine.processes(folder).forEach(HostProcess::kill);
      ProcessMachine.sweep(folder);
    } catch (IOException e) {
      failure.addSuppressed(e);
    }
  }

  private static void requireShort(Path socket) {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > MAX_SOCKET_PATH) {
      throw failed("socket", "the path " + socket + " is too long for a socket", null)
          .withHint("choose a run directory with a shorter name");
    }
  }

  private static String log(MachineFolder folder) {
    try {
      String text = Files.readString(folder.log(), StandardCharsets.ISO_8859_1).strip();
      return text.substring(Math.max(0, text.length() - SHOWN_LOG));
    } catch (IOException e) {
      return "no log";
    }
  }

  private static SandboxException failed(String step, String why, @Nullable Throwable cause) {
    String message = "start, " + step + ": " + why;
    return cause == null
        ? new SandboxException(ErrorCode.ENGINE_FAILED, message)
        : new SandboxException(ErrorCode.ENGINE_FAILED, message, cause);
  }
}
