package dev.carrel.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
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
      "Measure what Carrel costs, beside what the kernel alone and runc or docker cost on this"
          + " machine.",
      "",
      "Starts a server of its own in a scratch folder and removes both at the end. Ratios compare"
          + " lines of the same run; absolute times on a shared machine are notes."
    })
public final class BenchCommand implements Callable<Integer> {
  private static final int MCP_STARTS = 5;
  private static final Duration PATIENCE = Duration.ofSeconds(15);
  private static final String ON_SHUTDOWN = "CARREL_SANDBOX_ON_SHUTDOWN";
  private static final Duration IDLE = Duration.ofSeconds(12);
  private static final int QUICK = 40;
  private static final int USUAL = 200;
  private static final String PLAIN = "{}";
  private static final String COLD = "{\"isolated\":true}";

  @Option(names = "--quick", description = "A fifth of the samples: a look, not a measurement.")
  private boolean quick;

  @Option(
      names = "--cycles",
      paramLabel = "N",
      defaultValue = "300",
      description = "Create/delete cycles of the leak check (default: ${DEFAULT-VALUE}).")
  private int cycles = 300;

  @Option(
      names = "--soak",
      description =
          "Instead of all else: 10,000 create/delete cycles through the pool and 1,000 cold ones,"
              + " and what they leave.")
  private boolean soak;

  @Option(
      names = "--creates",
      description =
          "Instead of all else: sandboxes that are made when somebody asks, one by one and a hundred"
              + " at once, and what they take up.")
  private boolean creates;

  @Option(
      names = "--claims",
      description = "Instead of all else: warm sandboxes beside 10, 100 and 500 live ones.")
  private boolean claims;

  @Option(
      names = "--egress",
      description = "Instead of all else: what the way out of a sandbox adds and takes.")
  private boolean egress;

  @Option(
      names = "--audit",
      description = "Instead of all else: what it costs to put executions on record.")
  private boolean audit;

  @Option(
      names = "--engines",
      description =
          "Instead of all else: create and exec through each engine of this host, also on an image"
              + " of 10,000 files, beside plain runc and, where a daemon answers, plain docker.")
  private boolean engines;

  @Option(
      names = "--density",
      arity = "0..1",
      fallbackValue = "1000",
      paramLabel = "COUNT",
      description =
          "Instead of all else: so many idle sandboxes with a Python context (${FALLBACK-VALUE}),"
              + " then use all of them.")
  private int density;

  @Option(
      names = "--out",
      paramLabel = "FILE",
      description = "Where the JSON goes (default: carrel-bench.json here).")
  private Path out = Path.of("carrel-bench.json");

  @Option(names = "--strict", description = "Exit with 1 when a goal is missed.")
  private boolean strict;

  private final Path home;
  private Path memory = Path.of("");
  private boolean over;

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
    memory = inMemory();
    int count = quick ? QUICK : USUAL;
    Thread interrupted = new Thread(() -> leaveNothing(scratch));
    Runtime.getRuntime().addShutdownHook(interrupted);
    try {
      measure(report, scratch, count);
    } finally {
      leaveNothing(scratch);
      forget(interrupted);
    }
    report.print(terminal);
    report.writeJson(out);
    terminal.println("written to " + out.toAbsolutePath());
    List<Row> missed = report.missed();
    String slower = "; %d missed in time alone".formatted(report.metByFloor().size());
    terminal.println(
        (missed.isEmpty() ? "all goals met" : missed.size() + " goals missed")
            + (report.metByFloor().isEmpty() ? "" : slower));
    return strict && !missed.isEmpty() ? 1 : 0;
  }

  private void measure(Report report, Path scratch, int count) throws Exception {
    if (soak) {
      soak(report, scratch);
    }
    if (density > 0) {
      density(report, scratch);
    }
    if (creates || claims) {
      Floors floors = Floors.prepare(report, scratch);
      if (creates) {
        creates(report, floors, scratch, count);
      }
      if (claims) {
        claims(report, floors, scratch, count);
      }
    }
    if (!soak && density == 0 && !creates && !claims && !egress && !audit && !engines) {
      step("redaction");
      RedactorBench.measure(report);
      step("floors");
      Floors floors = Floors.prepare(report, scratch);
      floors.measure();
      step("peers");
      Peers.measure(report, scratch, Math.min(count, 40));
      measureServer(report, floors, scratch, count);
      creates(report, floors, scratch, count);
      claims(report, floors, scratch, count);
      egress(report, scratch, count);
      audit(report, scratch, count);
    }
    if (audit) {
      audit(report, scratch, count);
    }
    if (egress) {
      egress(report, scratch, count);
    }
    if (engines) {
      engines(report, scratch, count);
    }
  }

  private void engines(Report report, Path scratch, int count) throws Exception {
    step("peers");
    Peers.measure(report, scratch, Math.min(count, 40));
    try (ServerProcess server = start(scratch, "engines", EngineBench.settings(scratch))) {
      attempt(report, "engines", () -> new EngineBench(server, report).measure(count));
    }
  }

  private void audit(Report report, Path scratch, int count) throws Exception {
    try (ServerProcess recording = start(scratch, "recording", Map.of());
        ServerProcess silent = start(scratch, "silent", AuditBench.silence())) {
      attempt(report, "audit", () -> new AuditBench(recording, silent, report).measure(count));
    }
  }

  private void egress(Report report, Path scratch, int count) throws Exception {
    try (ServerProcess server = start(scratch, "egress", EgressBench.settings())) {
      attempt(report, "egress", () -> new EgressBench(server, report).measure(count));
    }
  }

  private void measureServer(Report report, Floors floors, Path scratch, int count)
      throws Exception {
    attempt(report, "mcp start", () -> McpBench.measureStart(home, scratch, MCP_STARTS, report));
    step("server start");
    try (ServerProcess server = start(scratch, "server", Map.of())) {
      report.add(Row.figure("server start to first answer", server.startMillis(), "ms", 1000));
      // What its compilers used at the start is given back by then.
      Thread.sleep(IDLE);
      String idle = "server RSS, idle for %d s".formatted(IDLE.toSeconds());
      report.add(Row.figure(idle, server.residentMebibytes(), "MiB", 150));
      ServerBench bench = new ServerBench(server, report, count);
      attempt(report, "floors of sandboxes", floors::sandboxes);
      attempt(report, "requests", bench::measure);
      attempt(report, "throughput", bench::throughput);
      attempt(report, "mcp", () -> new McpBench(server, report).measure(count * 2));
      if (Processes.find("rg").isPresent()) {
        attempt(report, "search", new SearchBench(server, report)::measure);
      } else {
        report.notRun("search", "its peer is not installed (apt-get install ripgrep)");
      }
      attempt(report, "leaks", () -> leaks(report, server));
    }
  }

  private void creates(Report report, Floors floors, Path scratch, int count) throws Exception {
    try (ServerProcess server = start(scratch, "cold", ServerBench.nothingAhead())) {
      ServerBench bench = new ServerBench(server, report, count);
      bench.warmUp();
      attempt(report, "floors of sandboxes", floors::sandboxes);
      attempt(report, "cold creates", bench::cold);
      attempt(report, "cold burst", new Burst(server, report)::cold);
      // A box that was made ahead may have an interpreter that nobody has asked for.
      attempt(report, "memory", bench::memory);
    }
  }

  private void claims(Report report, Floors floors, Path scratch, int count) throws Exception {
    attempt(report, "floors of sandboxes", floors::sandboxes);
    try (ServerProcess server = start(scratch, "claims", Claims.settings())) {
      attempt(report, "claims", () -> new Claims(server, report).measure(count / 4));
    }
    try (ServerProcess server = start(scratch, "burst", Burst.boxes())) {
      attempt(report, "warm burst", new Burst(server, report)::warm);
    }
  }

  private void leaks(Report report, ServerProcess server) throws Exception {
    Soak soak = new Soak(server);
    soak.run(report, cycles, "leak check", PLAIN);
    soak.leftovers().report(report);
  }

  private void soak(Report report, Path scratch) throws Exception {
    Set<String> ids = new HashSet<>();
    step("10,000 cycles through the pool");
    var settings = new HashMap<>(Claims.steady());
    // What waits in the pool at its end is for the next server to find.
    settings.put(ON_SHUTDOWN, "keep");
    try (ServerProcess server = start(scratch, "soak", settings)) {
      Soak pooled = new Soak(server);
      pooled.run(report, 10_000, "through the pool", PLAIN);
      pooled.poolHits(report);
      ids.addAll(pooled.ids());
    }
    // Without pools: what waited in the old one's must go too.
    step("1,000 cold cycles");
    try (ServerProcess server = start(scratch, "soak", Map.of())) {
      Soak cold = new Soak(server);
      cold.run(report, 1_000, "cold", COLD);
      ids.addAll(cold.ids());
      Leftovers.settled(server, ids).report(report);
    }
  }

  private void density(Report report, Path scratch) throws Exception {
    step(density + " sandboxes");
    try (ServerProcess server = start(scratch, "density", Density.settings(density))) {
      Density measured = new Density(server);
      measured.run(report, density, PLAIN, COLD);
      measured.failures().stream().limit(20).forEach(line -> report.notRun("a sandbox", line));
    }
  }

  private synchronized ServerProcess start(Path scratch, String name, Map<String, String> settings)
      throws IOException, InterruptedException {
    if (over) {
      throw new InterruptedException("nothing is measured any more");
    }
    var all = new HashMap<>(settings);
    all.put(ServerProcess.RUN, memory.resolve(name).toString());
    all.putIfAbsent(ON_SHUTDOWN, "stop");
    return ServerProcess.start(home, scratch.resolve(name), all);
  }

  /** For sockets and states, which a service has in /run: on most hosts that is in memory. */
  private static Path inMemory() throws IOException {
    Path shared = Path.of("/dev/shm");
    return Files.isDirectory(shared) && Files.getFileStore(shared).type().equals("tmpfs")
        ? Files.createTempDirectory(shared, "carrel-bench")
        : Files.createTempDirectory("carrel-bench");
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

  /** Its servers end by themselves when all goes well; whoever interrupts it ends them too. */
  private synchronized void leaveNothing(Path scratch) {
    over = true;
    List<ProcessHandle> servers = ProcessHandle.current().children().toList();
    servers.forEach(ProcessHandle::destroy);
    try {
      CompletableFuture.allOf(
              servers.stream().map(ProcessHandle::onExit).toArray(CompletableFuture[]::new))
          .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
          .join();
    } catch (CompletionException tooSlow) {
      System.err.println("bench: a server does not end");
    }
    deleteTree(scratch);
    deleteTree(memory);
  }

  private static void forget(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException itRuns) {
      // Nothing is left for it to do.
    }
  }

  private static void deleteTree(Path root) {
    try (Stream<Path> tree = Files.walk(root)) {
      for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (NoSuchFileException gone) {
      // As it should be.
    } catch (IOException | UncheckedIOException e) {
      System.err.println("bench: something stays in " + root + ": " + e);
    }
  }
}
