package dev.carrel.bench;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel alone costs, measured by small programs: one in C that is compiled for the
 * occasion, and one in Python for what a warm interpreter takes.
 */
final class Floors {
  static final String SPAWN = "floor: fork+exec /bin/true";
  static final String ECHO = "floor: socket echo";
  static final String PIPE = "floor: 1 GiB through a pipe";
  static final Floor LAUNCH = new Floor("floor: a launcher alone", 1.9);
  static final Floor LIFE = new Floor("floor: the same, a program in it, and its end", 307);
  static final Floor PYTHON = new Floor("floor: a fork of a warm Python that confines itself", 3.4);
  static final Floor DATA = new Floor("floor: the same with IPython and pandas", 9.2);

  private static final String INTERPRETER = "/usr/bin/python3";
  private static final List<String> DATA_MODULES =
      List.of("IPython.core.interactiveshell", "numpy", "pandas", "matplotlib.pyplot");

  private final Report report;
  private final @Nullable Path program;
  private final Path script;

  private Floors(Report report, @Nullable Path program, Path script) {
    this.report = report;
    this.program = program;
    this.script = script;
  }

  static Floors prepare(Report report, Path scratch) throws IOException, InterruptedException {
    Path script = copy("floors.py", scratch);
    if (Processes.find("cc").isEmpty()) {
      report.notRun("floors", "no C compiler (apt-get install gcc libc6-dev)");
      return new Floors(report, null, script);
    }
    Path source = copy("floors.c", scratch);
    Path program = scratch.resolve("floors");
    Processes.run(List.of("cc", "-O2", "-static", "-o", program.toString(), source.toString()));
    return new Floors(report, program, script);
  }

  private static Path copy(String name, Path scratch) throws IOException {
    Path file = scratch.resolve(name);
    try (InputStream in = Objects.requireNonNull(Floors.class.getResourceAsStream(name))) {
      Files.copy(in, file);
    }
    return file;
  }

  /** The simplest. */
  void measure() throws Exception {
    if (program == null) {
      return;
    }
    report.add(Row.floor(SPAWN, samples("spawn", 300)));
    report.add(Row.floor(ECHO, samples("echo", 3000)));
    double seconds = samples("pipe", 1024).p50Millis() / 1e3;
    report.add(Row.rate(PIPE, 1024 * 1.048576 / seconds, "MB/s", null));
  }

  /**
   * Those of sandboxes, to be measured right before what stands beside them: on a shared machine it
   * matters when.
   */
  void sandboxes() throws Exception {
    if (!Files.isWritable(Path.of("/proc/sys/kernel/hostname"))) {
      report.notRun(LAUNCH.name(), "it maps ids as only root may");
      return;
    }
    if (program != null) {
      report.add(Row.floor(LAUNCH.name(), samples("launch", 300)));
      report.add(Row.rate(LIFE.name(), 1000 / samples("life", 300).p50Millis(), "/s", null));
    }
    python(PYTHON, 100, List.of());
    python(DATA, 50, DATA_MODULES);
  }

  private Samples samples(String what, int count) throws IOException, InterruptedException {
    return Processes.samples(
        List.of(Objects.requireNonNull(program).toString(), what, String.valueOf(count)));
  }

  private void python(Floor floor, int count, List<String> modules) throws InterruptedException {
    var command = new ArrayList<>(List.of(INTERPRETER, "-B", script.toString()));
    command.add(String.valueOf(count));
    command.addAll(modules);
    try {
      report.add(Row.floor(floor.name(), Processes.samples(command)));
    } catch (IOException e) {
      report.notRun(floor.name(), reason(e));
    }
  }

  private static String reason(IOException failure) {
    return Optional.ofNullable(failure.getMessage())
        .flatMap(message -> message.lines().reduce((_, last) -> last))
        .orElse(failure.toString());
  }

  /**
   * What a goal is a multiple of.
   *
   * @param there what it took on the machine that the goals were set on, in ms or per second
   */
  record Floor(String name, double there) {}
}
