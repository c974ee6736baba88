package dev.carrel.engine.host;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Limits;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered of a machine, for the server that comes after this one.
 *
 * @param base the host's number for the machine's id 0; empty where ids are the host's
 * @param first the first process of the machine as the host sees it; empty until it runs
 */
public record MachineState(
    Limits limits,
    OptionalInt base,
    @Nullable VolumeId volume,
    Optional<HostProcess> first,
    List<Measure> measures) {
  private static final int ATTEMPTS = 20;
  private static final Duration PAUSE = Duration.ofMillis(100);

  public MachineState {
    measures = List.copyOf(measures);
  }

  public Isolation isolation(Isolation.Strength strength) {
    return new Isolation(strength, measures);
  }

  public MachineState with(Limits newLimits) {
    return new MachineState(newLimits, base, volume, first, measures);
  }

  /** With other limits, which are in force in its group by now. */
  public MachineState limited(Limits newLimits, ControlGroup group) throws IOException {
    var now = new Measures(measures);
    Inspection.limits(now, group, newLimits);
    List<Measure> found = now.as(Isolation.Strength.NAMESPACES).measures();
    return new MachineState(newLimits, base, volume, first, found);
  }

  /** Whoever reads the file finds the old state or this one, whole. */
  public void write(Path file) throws IOException {
    var properties = new Properties();
    properties.setProperty("memory", Long.toString(limits.memory().bytes()));
    properties.setProperty("cpus", Double.toString(limits.cpus()));
    properties.setProperty("pids", Integer.toString(limits.pids()));
    properties.setProperty("disk", Long.toString(limits.disk().bytes()));
    properties.setProperty("open-files", Integer.toString(limits.openFiles()));
    base.ifPresent(number -> properties.setProperty("base", Integer.toString(number)));
    if (volume != null) {
      properties.setProperty("volume", volume.value());
    }
    first.ifPresent(
        process -> {
          properties.setProperty("pid", Long.toString(process.pid()));
          properties.setProperty("started", Long.toString(process.started()));
        });
    for (int i = 0; i < measures.size(); i++) {
      Measure measure = measures.get(i);
      String sign = measure.applied() ? "+" : "-";
      properties.setProperty("measure." + i, sign + measure.name() + " " + measure.detail());
    }
    Path next = file.resolveSibling("state.new");
    try (Writer writer = Files.newBufferedWriter(next)) {
      properties.store(writer, null);
    }
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
  }

  public static MachineState read(Path file) throws IOException {
    return of(properties(file));
  }

  /**
   * The same; empty where none was written, or none that makes sense. That a file cannot be read
   * says nothing of what is in it, and may pass: it is tried for a while.
   */
  public static Optional<MachineState> find(Path file) throws IOException {
    for (int i = 0; ; i++) {
      try {
        return Optional.of(properties(file)).flatMap(MachineState::sensible);
      } catch (NoSuchFileException | CharacterCodingException | IllegalArgumentException e) {
        return Optional.empty();
      } catch (IOException e) {
        if (i == ATTEMPTS) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }

  private static Optional<MachineState> sensible(Properties properties) {
    try {
      return Optional.of(of(properties));
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  private static MachineState of(Properties properties) throws IOException {
    String volume = properties.getProperty("volume");
    String base = properties.getProperty("base");
    var measures = new ArrayList<Measure>();
    for (int i = 0; properties.containsKey("measure." + i); i++) {
      String text = properties.getProperty("measure." + i);
      int space = text.indexOf(' ');
      measures.add(
          new Measure(text.substring(1, space), text.startsWith("+"), text.substring(space + 1)));
    }
    return new MachineState(
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

  public static Properties properties(Path file) throws IOException {
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
