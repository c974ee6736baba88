package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.EngineInfo;
import dev.carrel.sdk.ImageBuilder;
import dev.carrel.sdk.Measure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "doctor",
    description = {
      "Tell what is present on this host, what isolation is really applied and why not more, and"
          + " what to install.",
      "",
      "Exits with 1 when no engine that isolates can be used, with 125 when that is not known."
    },
    footerHeading = "%nExamples:%n",
    footer = {"  carrel doctor", "  carrel doctor --json"})
final class DoctorCommand implements Callable<Integer> {
  private static final String NATIVE = "native";

  private static final String IN_MEMORY = "tmpfs";
  private static final String SLOWER =
      "; sandboxes come and go faster with one in memory: storage.run-directory on a tmpfs";

  /** Where there is such a file, control groups are those of version 2. */
  private static final Path UNIFIED = Path.of("/sys/fs/cgroup/cgroup.controllers");

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  DoctorCommand(Session session) {
    this.session = session;
  }

  /** What was found; the shape of {@code --json}. */
  record Findings(
      String version,
      Map<String, String> host,
      List<EngineInfo> engines,
      List<ImageBuilder> builders,
      @Nullable String engineProblem,
      @Nullable String engineHint,
      List<ToolFinding> tools,
      List<String> remedies) {

    boolean isolates() {
      return engines.stream().anyMatch(e -> e.usable() && !e.isolation().equals("none"));
    }
  }

  record ToolFinding(
      String name, String purpose, @Nullable String version, @Nullable String remedy) {}

  @Override
  public Integer call() throws InterruptedException {
    Findings findings;
    try (Progress _ = session.console().progress("looking around")) {
      findings = look();
    }
    if (common.json()) {
      session.console().json(findings);
    } else {
      show(findings);
    }
    if (findings.engineProblem() != null) {
      return Cli.FAILED;
    }
    return findings.isolates() ? 0 : 1;
  }

  private Findings look() throws InterruptedException {
    List<EngineInfo> engines = List.of();
    List<ImageBuilder> builders = List.of();
    String problem = null;
    String hint = null;
    try (Session.Connection server = session.connectForOneRun()) {
      engines = server.carrel().engines();
      builders = server.carrel().imageBuilders();
    } catch (CarrelException e) {
      problem = e.message();
      hint = Cli.hint(e).orElse(null);
    } catch (CommandFailure e) {
      problem = e.getMessage();
      hint = e.hint().orElse(null);
    }
    return new Findings(
        session.host().version(),
        host(),
        engines,
        builders,
        problem,
        hint,
        tools(),
        remedies(engines));
  }

  /** Root needs none of them. */
  private static List<String> remedies(List<EngineInfo> engines) {
    String user = System.getProperty("user.name");
    if (user.equals("root")) {
      return List.of();
    }
    List<String> missing =
        engines.stream()
            .filter(engine -> engine.name().equals(NATIVE))
            .flatMap(engine -> engine.isolationMeasures().stream())
            .filter(measure -> !measure.applied())
            .map(Measure::name)
            .toList();
    return Remedies.of(missing, user, Files.exists(UNIFIED));
  }

  private Map<String, String> host() {
    var host = new LinkedHashMap<String, String>();
    host.put("java", Runtime.version() + " in " + System.getProperty("java.home"));
    host.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    host.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
    host.put("user", System.getProperty("user.name"));
    host.put("run folder", runFolder());
    host.putAll(KernelSettings.in(Path.of("/")));
    return host;
  }

  /** Each sandbox makes files there and removes them: where it lies can be felt. */
  private String runFolder() {
    try {
      Path folder = session.host().runFolder().toAbsolutePath();
      String type = Files.getFileStore(nearest(folder)).type();
      return "%s on %s%s".formatted(folder, type, type.equals(IN_MEMORY) ? "" : SLOWER);
    } catch (CommandFailure | IOException e) {
      return "unknown: " + e.getMessage();
    }
  }

  /** The folder, or what will hold it. */
  private static Path nearest(Path folder) {
    Path parent = folder.getParent();
    return parent == null || Files.exists(folder) ? folder : nearest(parent);
  }

  // At the same time: R alone takes half a second to say its version.
  private static List<ToolFinding> tools() throws InterruptedException {
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var probes = new LinkedHashMap<Tool, Future<Optional<String>>>();
      Tool.ALL.forEach(tool -> probes.put(tool, executor.submit(tool::version)));
      var findings = new ArrayList<ToolFinding>();
      for (var probe : probes.entrySet()) {
        Tool tool = probe.getKey();
        String version = probe.getValue().get().orElse(null);
        findings.add(
            new ToolFinding(
                tool.name(), tool.purpose(), version, version == null ? tool.remedy() : null));
      }
      return findings;
    } catch (ExecutionException e) {
      throw new IllegalStateException("a probe failed", e);
    }
  }

  private void show(Findings findings) {
    Console console = session.console();
    heading("Host");
    console.table(
        List.of(),
        findings.host().entrySet().stream()
            .map(fact -> List.of("  " + fact.getKey(), console.safe(fact.getValue())))
            .toList());
    if (findings.engineProblem() != null) {
      heading("Engines");
      console.line("  " + console.styled(Console.Style.BAD, "✗ ") + findings.engineProblem());
      if (findings.engineHint() != null) {
        console.line("    " + findings.engineHint());
      }
    }
    findings.engines().forEach(this::show);
    if (!findings.builders().isEmpty()) {
      heading("Building images of the catalog");
      console.table(
          List.of(), findings.builders().stream().map(one -> builderRow(console, one)).toList());
    }
    heading("Programs");
    console.table(
        List.of(), findings.tools().stream().map(tool -> toolRow(console, tool)).toList());
    if (!findings.remedies().isEmpty()) {
      heading("To have more of '" + NATIVE + "' as " + findings.host().get("user"));
      findings.remedies().forEach(remedy -> console.line("  " + console.safe(remedy)));
    }
    console.line("");
    console.line(verdict(console, findings));
  }

  private void show(EngineInfo engine) {
    Console console = session.console();
    heading(
        "Engine %s (%s): %s"
            .formatted(
                engine.name(),
                console.safe(engine.runtime()),
                engine.usable() ? "isolation " + engine.isolation() : "not usable"));
    for (String problem : engine.problems()) {
      console.line("  " + console.styled(Console.Style.WARN, "! ") + console.safe(problem));
    }
    String overlay = engine.overlayProblem();
    if (engine.usable()) {
      console.line(
          "  "
              + (overlay == null
                  ? console.styled(Console.Style.GOOD, "✓ ") + "writable root (rootfs overlay)"
                  : console.styled(Console.Style.WARN, "- ") + console.safe(overlay)));
    }
    SandboxCommand.measures(console, engine.isolationMeasures());
    if (!engine.usable() && !engine.isolation().equals("none")) {
      console.line(
          "  To use it without what is missing, and have each sandbox say so:"
              + " CARREL_NATIVE_ALLOW_MISSING="
              + missing(engine));
    }
  }

  private static String missing(EngineInfo engine) {
    return engine.isolationMeasures().stream()
        // A volume that is missing keeps nobody out.
        .filter(measure -> !measure.applied() && !measure.name().equals("volume"))
        .map(Measure::name)
        .collect(Collectors.joining(","));
  }

  private void heading(String text) {
    Console console = session.console();
    console.line("");
    console.line(console.styled(Console.Style.STRONG, text));
  }

  private static List<String> builderRow(Console console, ImageBuilder builder) {
    String mark =
        builder.usable()
            ? console.styled(Console.Style.GOOD, "✓ ")
            : console.styled(Console.Style.FAINT, "– ");
    String state = builder.used() ? "used" : builder.usable() ? "usable" : "not usable";
    return List.of("  " + mark + builder.name(), state, console.safe(builder.detail()));
  }

  private static List<String> toolRow(Console console, ToolFinding tool) {
    boolean present = tool.version() != null;
    String mark =
        present
            ? console.styled(Console.Style.GOOD, "✓ ")
            : console.styled(Console.Style.FAINT, "– ");
    return List.of(
        "  " + mark + tool.name(),
        tool.purpose(),
        present ? String.valueOf(tool.version()) : "absent; " + tool.remedy());
  }

  private static String verdict(Console console, Findings findings) {
    if (findings.engineProblem() != null) {
      return console.styled(
          Console.Style.WARN, "Whether an engine here isolates is not known: no server could say.");
    }
    return findings.isolates()
        ? console.styled(Console.Style.GOOD, "This host can run untrusted code in isolation.")
        : console.styled(
            Console.Style.BAD,
            "No engine here isolates. Do not run untrusted code until the problems above are"
                + " solved.");
  }
}
