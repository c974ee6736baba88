package dev.carrel.engine.process;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.HostTree;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;

/** Everything that one machine has on disk: {@code <run>/<id>/}. Gone, the machine is gone. */
record MachineFolder(SandboxId id, Path path) {
  private static final String STATE = "process.properties";

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

  /** Where the guest writes the port that leads to the proxy. */
  Path portFile() {
    return path.resolve("proxy.port");
  }

  /** The port that leads to the proxy; empty when the machine has no way out. */
  OptionalInt proxyPort() {
    try {
      return OptionalInt.of(Integer.parseInt(Files.readString(portFile()).strip()));
    } catch (NoSuchFileException e) {
      return OptionalInt.empty();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + portFile(), e);
    }
  }

  Path log() {
    return path.resolve("guest.log");
  }

  /** Makes it, with a state that names no process yet, so that a crash leaves no unknown folder. */
  void create(MachineSpec spec) throws IOException {
    Files.createDirectory(path, ProcessVolumes.OURS);
    try {
      write(properties(spec));
    } catch (IOException e) {
      remove();
      throw e;
    }
  }

  /** The workspace of a machine that has no volume. */
  Path makeWorkspace() throws IOException {
    return Files.createDirectory(path.resolve("workspace"), ProcessVolumes.OURS);
  }

  void record(MachineSpec spec, HostProcess guest) throws IOException {
    Properties properties = properties(spec);
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

  Optional<VolumeId> volume() throws IOException {
    return Optional.ofNullable(read().getProperty("volume")).map(VolumeId::new);
  }

  /** The guest, if it was recorded; it may have ended since. */
  Optional<HostProcess> guest() throws IOException {
    Properties properties = read();
    return properties.containsKey("pid")
        ? Optional.of(new HostProcess(number(properties, "pid"), number(properties, "started")))
        : Optional.empty();
  }

  /** Removes it with all it holds; a volume is not in it. */
  void remove() throws IOException {
    HostTree.remove(path);
  }

  private static Properties properties(MachineSpec spec) {
    Limits limits = spec.limits();
    var properties = new Properties();
    if (spec.volume() != null) {
      properties.setProperty("volume", spec.volume().value());
    }
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
