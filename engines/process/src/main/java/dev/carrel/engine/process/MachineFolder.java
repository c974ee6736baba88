package dev.carrel.engine.process;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** Everything that one machine has on disk: {@code <run>/<id>/}. Gone, the machine is gone. */
record MachineFolder(SandboxId id, Path path) {
  private static final String STATE = "process.properties";
  private static final long REMOVAL_SECONDS = 60;

  static MachineFolder in(Path runDirectory, SandboxId id) {
    return new MachineFolder(id, runDirectory.resolve(id.value()));
  }

  /** A folder that this engine made, whatever is left in it. */
  static Optional<MachineFolder> recognise(Path path) {
    String name = String.valueOf(path.getFileName());
    return Files.isRegularFile(path.resolve(STATE))
        ? Optional.of(new MachineFolder(new SandboxId(name), path))
        : Optional.empty();
  }

  Path socket() {
    return path.resolve("guest.sock");
  }

  Path workspace() {
    return path.resolve("workspace");
  }

  Path log() {
    return path.resolve("guest.log");
  }

  /** Makes it, with a state that names no process yet, so that a crash leaves no unknown folder. */
  void create(Limits limits) throws IOException {
    var ours = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    Files.createDirectory(path, ours);
    write(properties(limits));
    Files.createDirectory(workspace(), ours);
  }

  void record(Limits limits, HostProcess guest) throws IOException {
    Properties properties = properties(limits);
    properties.setProperty("pid", Long.toString(guest.pid()));
    properties.setProperty("started", Long.toString(guest.started()));
    write(properties);
  }

  Limits limits() throws IOException {
    Properties properties = read();
    return new Limits(
        new DataSize(number(properties, "memory")),
        Double.parseDouble(properties.getProperty("cpus", "")),
        (int) number(properties, "pids"),
        new DataSize(number(properties, "disk")),
        (int) number(properties, "open-files"));
  }

  /** The guest, if it was recorded; it may have ended since. */
  Optional<HostProcess> guest() throws IOException {
    Properties properties = read();
    return properties.containsKey("pid")
        ? Optional.of(new HostProcess(number(properties, "pid"), number(properties, "started")))
        : Optional.empty();
  }

  /**
   * Removes it with all it holds. The commands had the workspace to themselves: paths may be longer
   * than any one call takes and folders closed even to us, so the work is left to the system's own
   * tools, which know both.
   */
  void remove() throws IOException {
    if (Files.exists(path) && !succeeds("rm", "-rf", "--", path.toString())) {
      succeeds("chmod", "-R", "u+rwX", "--", path.toString());
      if (!succeeds("rm", "-rf", "--", path.toString())) {
        throw new IOException("cannot remove " + path);
      }
    }
  }

  private static boolean succeeds(String... command) throws IOException {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      return process.waitFor(REMOVAL_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      process.destroyForcibly();
    }
  }

  private static Properties properties(Limits limits) {
    var properties = new Properties();
    properties.setProperty("memory", Long.toString(limits.memory().bytes()));
    properties.setProperty("cpus", Double.toString(limits.cpus()));
    properties.setProperty("pids", Integer.toString(limits.pids()));
    properties.setProperty("disk", Long.toString(limits.disk().bytes()));
    properties.setProperty("open-files", Integer.toString(limits.openFiles()));
    return properties;
  }

  private void write(Properties properties) throws IOException {
    Path next = path.resolve(STATE + ".new");
    try (Writer writer = Files.newBufferedWriter(next)) {
      properties.store(writer, null);
    }
    Files.move(next, path.resolve(STATE), StandardCopyOption.ATOMIC_MOVE);
  }

  private Properties read() throws IOException {
    var properties = new Properties();
    try (Reader reader = Files.newBufferedReader(path.resolve(STATE))) {
      properties.load(reader);
    }
    return properties;
  }

  private static long number(Properties properties, String key) throws IOException {
    try {
      return Long.parseLong(properties.getProperty(key, ""));
    } catch (NumberFormatException e) {
      throw new IOException("the machine's state has no usable " + key, e);
    }
  }
}
