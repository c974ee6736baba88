package dev.carrel.cli;

import dev.carrel.sdk.BudgetInfo;
import dev.carrel.sdk.BudgetLimits;
import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.SettingInfo;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "limits",
    description = {
      "Show or set what a sandbox gets when it does not say, and the most that it may ask for; for"
          + " administrators. What exists keeps what it has.",
      "",
      "limits budget shows or sets what a sandbox or a namespace may use up in all."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel limits",
      "  carrel limits --ram 1024 --cpu 2 --processes 256 --max-ram 8192",
      "  carrel limits --idle-timeout 600 --max-life 86400",
      "  carrel limits budget ID --executions 100 --cpu-seconds 600",
      "  carrel limits budget --namespace lab --egress-bytes 1000000000"
    })
final class LimitsCommand implements Callable<Integer> {
  private static final List<String> SHOWN =
      List.of(
          "memory_mb",
          "cpu_cores",
          "pids",
          "disk_mb",
          "idle_timeout_seconds",
          "max_memory_mb",
          "max_cpu_cores",
          "max_pids",
          "max_disk_mb",
          "max_idle_timeout_seconds",
          "max_life_seconds");

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(names = "--ram", paramLabel = "MB", description = "Memory.")
  private @Nullable Long ram;

  @Option(names = "--cpu", paramLabel = "CORES", description = "Cores, such as 0.5.")
  private @Nullable Double cpu;

  @Option(names = "--processes", paramLabel = "N", description = "Processes and threads.")
  private @Nullable Long processes;

  @Option(names = "--disk", paramLabel = "MB", description = "Room for files.")
  private @Nullable Long disk;

  @Option(
      names = "--idle-timeout",
      paramLabel = "SECONDS",
      description = "How long it may stay idle; 0 means for ever.")
  private @Nullable Long idleTimeout;

  @Option(names = "--max-ram", paramLabel = "MB", description = "The most memory to ask for.")
  private @Nullable Long maxRam;

  @Option(names = "--max-cpu", paramLabel = "CORES", description = "The most cores to ask for.")
  private @Nullable Double maxCpu;

  @Option(names = "--max-processes", paramLabel = "N", description = "The most processes.")
  private @Nullable Long maxProcesses;

  @Option(names = "--max-disk", paramLabel = "MB", description = "The most room for files.")
  private @Nullable Long maxDisk;

  @Option(
      names = "--max-idle-timeout",
      paramLabel = "SECONDS",
      description = "The longest to ask for.")
  private @Nullable Long maxIdleTimeout;

  @Option(
      names = "--max-life",
      paramLabel = "SECONDS",
      description = "How long one machine may run, however busy; 0 means for ever.")
  private @Nullable Long maxLife;

  LimitsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    var asked = new LinkedHashMap<String, @Nullable Object>();
    var values =
        Arrays.<@Nullable Object>asList(
            ram,
            cpu,
            processes,
            disk,
            idleTimeout,
            maxRam,
            maxCpu,
            maxProcesses,
            maxDisk,
            maxIdleTimeout,
            maxLife);
    for (int i = 0; i < SHOWN.size(); i++) {
      if (values.get(i) != null) {
        asked.put(SHOWN.get(i), values.get(i));
      }
    }
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      var settings = server.carrel().settings();
      Stream<SettingInfo> now =
          (asked.isEmpty() ? settings.list() : settings.change(asked))
              .stream().filter(setting -> SHOWN.contains(setting.name()));
      if (common.json()) {
        console.json(Map.of("limits", now.toList()));
      } else {
        console.table(
            List.of("LIMIT", "VALUE"),
            now.map(setting -> List.of(setting.name(), setting.value().toString())).toList());
      }
    }
    return 0;
  }

  @Command(
      name = "budget",
      description = {
        "Show or set what a sandbox, or all of a namespace together, may use up in all.",
        "A limit that is not named stays; 'none' lifts it. Whoever is no administrator can only"
            + " make a budget smaller."
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel limits budget ID",
        "  carrel limits budget ID --executions 100 --cpu-seconds 600",
        "  carrel limits budget --namespace lab --egress-bytes none"
      })
  static final class Budget implements Callable<Integer> {
    private static final String NONE = "none";

    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "0..1", paramLabel = "ID", description = "The sandbox.")
    private @Nullable String id;

    @Option(names = "--namespace", paramLabel = "NAME", description = "A namespace instead.")
    private @Nullable String namespace;

    @Option(names = "--cpu-seconds", paramLabel = "N", description = "CPU time.")
    private @Nullable String cpuSeconds;

    @Option(names = "--egress-bytes", paramLabel = "N", description = "Through the proxy.")
    private @Nullable String egressBytes;

    @Option(names = "--executions", paramLabel = "N", description = "Commands and cells.")
    private @Nullable String executions;

    @Option(names = "--reset", description = "Count from nothing again.")
    private boolean reset;

    Budget(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      if ((id == null) == (namespace == null)) {
        throw CommandFailure.usage("name either a sandbox or --namespace");
      }
      try (Session.Connection server = session.connect()) {
        BudgetInfo now = get(server.carrel());
        if (reset || cpuSeconds != null || egressBytes != null || executions != null) {
          now =
              set(
                  server.carrel(),
                  new BudgetLimits(
                      limit("--cpu-seconds", cpuSeconds, now.cpuSeconds()),
                      limit("--egress-bytes", egressBytes, now.egressBytes()),
                      limit("--executions", executions, now.executions()),
                      reset));
        }
        show(now);
      }
      return 0;
    }

    private BudgetInfo get(Carrel carrel) {
      return namespace != null
          ? carrel.budget(namespace)
          : carrel.sandboxes().get(String.valueOf(id)).budget();
    }

    private BudgetInfo set(Carrel carrel, BudgetLimits limits) {
      return namespace != null
          ? carrel.budget(namespace, limits)
          : carrel.sandboxes().get(String.valueOf(id)).budget(limits);
    }

    private void show(BudgetInfo budget) {
      Console console = session.console();
      if (common.json()) {
        console.json(budget);
        return;
      }
      console.table(
          List.of("BUDGET", "USED", "LIMIT"),
          List.of(
              List.of(
                  "cpu_seconds",
                  "%.1f".formatted(budget.cpuSecondsUsed()),
                  text(budget.cpuSeconds())),
              List.of(
                  "egress_bytes",
                  Long.toString(budget.egressBytesUsed()),
                  text(budget.egressBytes())),
              List.of(
                  "executions",
                  Long.toString(budget.executionsUsed()),
                  text(budget.executions()))));
    }

    private static String text(@Nullable Long limit) {
      return limit == null ? NONE : limit.toString();
    }

    private static @Nullable Long limit(String name, @Nullable String text, @Nullable Long now) {
      if (text == null) {
        return now;
      }
      if (text.equals(NONE)) {
        return null;
      }
      try {
        return Long.valueOf(text);
      } catch (NumberFormatException e) {
        throw CommandFailure.usage(name + " must be a whole number, or none");
      }
    }
  }
}
