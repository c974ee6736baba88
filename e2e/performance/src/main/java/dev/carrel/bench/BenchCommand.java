package dev.carrel.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures a server of its own, beside floors and peers, in one run. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    description = {
      "Measure what Carrel costs, beside what the kernel alone and runc or docker cost on this machine.",
      "",
      "Starts a server of its own in a scratch folder and removes both at the end. Ratios compare lines of the same run;"
          + " absolute times on a shared machine are notes."
    })
public final class BenchCommand implements Callable<Integer> {
  private static final int QUICK = 40;
  private static final int USUAL = 200;

  @Option(names = "--quick", description = "A fifth of the samples: a look, not a measurement.")
  private boolean quick;

  @Option(
      names = "--cycles",
      defaultValue = "300",
      description = "Create/delete cycles of the leak check (default: ${DEFAULT-VALUE}).")
  private int cycles = 300;

  @Option(names = "--out", description = "Where the JSON goes (default: carrel-bench.json here).")
  private Path out = Path.of("carrel-bench.json");

  @Option(names = "--strict", description = "Exit with 1 when a goal is missed.")
  private boolean strict;

  private final Path home;

  @Spec private @Nullable CommandSpec spec;

  /**
   * Makes the command.
   *
   * @param home the distribution's folder, whose server is measured
   */
  public BenchCommand(Path home) {
    this.home = home;
  }

  @Override
  public Integer call() throws Exception {
    PrintWriter terminal = Objects.requireNonNull(spec).commandLine().getOut();
    Report report = new Report();
    Path scratch = Files.createTempDirectory("carrel-bench");
    int count = quick ? QUICK : USUAL;
    try {
      step("floors");
      Floors.measure(report, scratch);
      step("peers");
      Peers.measure(report, scratch, Math.min(count, 40));
      measureServer(report, scratch, count);
    } finally {
      deleteTree(scratch);
    }
    report.print(terminal);
    report.writeJson(out);
    terminal.println("written to " + out.toAbsolutePath());
    List<Row> missed = report.missed();
    terminal.println(missed.isEmpty() ? "all goals met" : missed.size() + " goals missed");
    return strict && !missed.isEmpty() ? 1 : 0;
  }

  private void measureServer(Report report, Path scratch, int count) throws Exception {
    step("server start");
    try (ServerProcess server = ServerProcess.start(home, scratch.resolve("server"), Map.of())) {
      report.add(Row.figure("server start to first answer", server.startMillis(), "ms", 1000));
      report.add(Row.figure("server RSS, idle", server.residentMebibytes(), "MiB", 150));
      ServerBench bench = new ServerBench(server, report, count);
      attempt(report, "requests", bench::measure);
      attempt(report, "memory", bench::memory);
      attempt(report, "throughput", bench::throughput);
      attempt(report, "leaks", () -> bench.leaks(cycles));
    }
  }

  /** One part of the run; what was measured before stays when it fails. */
  private interface Part {
    void run() throws Exception;
  }

  private static void attempt(Report report, String name, Part part) throws Exception {
    step(name);
    try {
      part.run();
    } catch (IOException e) {
      report.notRun(name, e.toString());
    }
  }

  private static void step(String name) {
    System.err.println("bench: " + name + " …");
  }

  private static void deleteTree(Path root) throws IOException {
    try (Stream<Path> tree = Files.walk(root)) {
      for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }
}
