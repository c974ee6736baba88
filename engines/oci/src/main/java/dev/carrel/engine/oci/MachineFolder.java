package dev.carrel.engine.oci;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.HostTree;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Limits;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Everything that one machine has on disk: {@code <run>/<id>/}. Gone, the machine is gone. */
record MachineFolder(OciRuntime runtime, SandboxId id, Path path) {
  static final FileAttribute<Set<PosixFilePermission>> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private static final int SHOWN_LOG = 800;

  /**
   * What is remembered of a machine.
   *
   * @param base the host's number for the machine's id 0; empty where ids are the host's
   * @param first the first process of the machine as the host sees it; empty until it runs
   */
  record State(
      Limits limits,
      OptionalInt base,
      @Nullable VolumeId volume,
      Optional<HostProcess> first,
      List<Measure> measures) {
    Isolation isolation(OciRuntime runtime) {
      return new Isolation(runtime.strength(), measures);
    }

    State with(Limits newLimits) {
      return new State(newLimits, base, volume, first, measures);
    }
  }

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

  void write(State state) throws IOException {
    var properties = new Properties();
    Limits limits = state.limits();
    properties.setProperty("memory", Long.toString(limits.memory().bytes()));
    properties.setProperty("cpus", Double.toString(limits.cpus()));
    properties.setProperty("pids", Integer.toString(limits.pids()));
    properties.setProperty("disk", Long.toString(limits.disk().bytes()));
    properties.setProperty("open-files", Integer.toString(limits.openFiles()));
    state.base().ifPresent(base -> properties.setProperty("base", Integer.toString(base)));
    if (state.volume() != null) {
      properties.setProperty("volume", state.volume().value());
    }
    state
        .first()
        .ifPresent(
            first -> {
              properties.setProperty("pid", Long.toString(first.pid()));
              properties.setProperty("started", Long.toString(first.started()));
            });
    for (int i = 0; i < state.measures().size(); i++) {
      Measure measure = state.measures().get(i);
      String sign = measure.applied() ? "+" : "-";
      properties.setProperty("measure." + i, sign + measure.name() + " " + measure.detail());
    }
    Path next = path.resolve("state.new");
    try (Writer writer = Files.newBufferedWriter(next)) {
      properties.store(writer, null);
    }
    Files.move(next, stateFile(), StandardCopyOption.ATOMIC_MOVE);
  }

  State read() throws IOException {
    Properties properties = properties(stateFile());
    String volume = properties.getProperty("volume");
    String base = properties.getProperty("base");
    var measures = new ArrayList<Measure>();
    for (int i = 0; properties.containsKey("measure." + i); i++) {
      String text = properties.getProperty("measure." + i);
      int space = text.indexOf(' ');
      measures.add(
          new Measure(text.substring(1, space), text.startsWith("+"), text.substring(space + 1)));
    }
    return new State(
        new Limits(
            new DataSize(number(properties, "memory")),
            Double.parseDouble(properties.getProperty("cpus", "")),
            (int) number(properties, "pids"),
            new DataSize(number(properties, "disk")),
            (int) number(properties, "open-files")),
        base == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(base)),
        volume == null ? null : new VolumeId(volume),
        properties.containsKey("pid")
            ? Optional.of(new HostProcess(number(properties, "pid"), number(properties, "started")))
            : Optional.empty(),
        measures);
  }

  /** How the first process ended, in the companion's words; empty while it runs. */
  Optional<Properties> end() throws IOException {
    try {
      return Optional.of(properties(path.resolve("end.properties")));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** The first process as the runtime wrote it down, if it came that far. */
  Optional<HostProcess> writtenPid() throws IOException {
    try {
      return HostProcess.find(Long.parseLong(Files.readString(path.resolve("pid")).strip()));
    } catch (NoSuchFileException e) {
      return Optional.empty();
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

  void remove() throws IOException {
    HostTree.remove(path);
  }

  static Properties properties(Path file) throws IOException {
    var properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
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
