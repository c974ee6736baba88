package dev.carrel.bench;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** What the kernel alone costs, measured by a small C program that is compiled for the occasion. */
final class Floors {
  static final String SPAWN = "floor: fork+exec /bin/true";
  static final String ECHO = "floor: socket echo";
  static final String PIPE = "floor: 1 GiB through a pipe";
  static final String LAUNCH = "floor: namespaces and a root of its own";
  static final String LIFE = "floor: the same, true in it, and its end";

  private Floors() {}

  static void measure(Report report, Path scratch) throws Exception {
    if (Processes.find("cc").isEmpty()) {
      report.notRun("floors", "no C compiler (apt-get install gcc)");
      return;
    }
    Path program = compile(scratch);
    report.add(Row.floor(SPAWN, Processes.samples(List.of(program.toString(), "spawn", "300"))));
    report.add(Row.floor(ECHO, Processes.samples(List.of(program.toString(), "echo", "3000"))));
    double seconds =
        Processes.samples(List.of(program.toString(), "pipe", "1024")).p50Millis() / 1e3;
    report.add(Row.rate(PIPE, 1024 * 1.048576 / seconds, "MB/s", null));
    if (!Files.isWritable(Path.of("/proc/sys/kernel/hostname"))) {
      report.notRun(LAUNCH, "it maps ids as only root may");
      return;
    }
    report.add(Row.floor(LAUNCH, Processes.samples(List.of(program.toString(), "launch", "300"))));
    double life = Processes.samples(List.of(program.toString(), "life", "300")).p50Millis();
    report.add(Row.rate(LIFE, 1000 / life, "/s", null));
  }

  private static Path compile(Path scratch) throws IOException, InterruptedException {
    Path source = scratch.resolve("floors.c");
    try (InputStream in = Objects.requireNonNull(Floors.class.getResourceAsStream("floors.c"))) {
      Files.copy(in, source);
    }
    Path program = scratch.resolve("floors");
    Processes.run(List.of("cc", "-O2", "-o", program.toString(), source.toString()));
    return program;
  }
}
