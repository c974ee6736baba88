package dev.carrel.cli;

import dev.carrel.sdk.Installation;
import dev.carrel.sdk.Measure;
import dev.carrel.sdk.SandboxInfo;
import dev.carrel.sdk.SandboxOptions;
import dev.carrel.sdk.Sandboxes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel sandbox …}: one class for each verb. */
@Command(
    name = "sandbox",
    aliases = "session",
    description = "Make, list, look at, start, stop and delete sandboxes.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  id=$(carrel sandbox create -q)",
      "  carrel sandbox list",
      "  carrel sandbox stop $id",
      "  carrel sandbox start $id          its files are still there",
      "  carrel sandbox delete $id"
    })
final class SandboxCommand extends CommandGroup {

  @Command(
      name = "create",
      description = "Start a sandbox and print its id.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel sandbox create",
        "  carrel sandbox create --memory 1024 --cpu 2 --key notebook-7",
        "  id=$(carrel sandbox create -q)"
      })
  static final class Create implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();
    @Mixin private SandboxShape shape = new SandboxShape();

    @Option(
        names = {"-q", "--quiet"},
        description = "Print the id alone.")
    private boolean quiet;

    @Option(
        names = "--key",
        paramLabel = "KEY",
        description = "Same key, same sandbox: gives the one that has it, if any.")
    private @Nullable String key;

    @Option(
        names = "--idle-timeout",
        paramLabel = "SECONDS",
        description = "End it after this long without a call; 0 means never.")
    private @Nullable Long idleTimeout;

    @Option(
        names = "--on-idle",
        paramLabel = "POLICY",
        completionCandidates = Choices.OnIdle.class,
        description = "How it ends then: stop, pause or destroy.")
    private @Nullable String onIdle;

    @Option(
        names = "--max-life",
        paramLabel = "SECONDS",
        description = "Stop it when it has run for this long.")
    private @Nullable Long maxLife;

    @Option(names = "--ephemeral", description = "Keep its files in memory.")
    private boolean ephemeral;

    @Option(
        names = "--volume",
        paramLabel = "NAME",
        description = "Your volume to use as /workspace; made when there is none.")
    private @Nullable String volume;

    @Option(
        names = "--snapshot",
        paramLabel = "ID",
        description = "Begin with the files of this snapshot.")
    private @Nullable String snapshot;

    @Option(
        names = {"-m", "--metadata"},
        paramLabel = "NAME=VALUE",
        description = "Label it; may be repeated.")
    private Map<String, String> metadata = Map.of();

    @Option(
        names = "--install",
        paramLabel = "MANAGER:PACKAGE",
        description = "Install it first, such as pip:six or npm:is-odd@3.0.1; may be repeated.")
    private List<String> installs = List.of();

    @Option(names = "--cpu-seconds", paramLabel = "N", description = "CPU time it may use in all.")
    private @Nullable Long cpuSeconds;

    @Option(names = "--egress-bytes", paramLabel = "N", description = "Bytes through the proxy.")
    private @Nullable Long egressBytes;

    @Option(names = "--executions", paramLabel = "N", description = "Commands and cells.")
    private @Nullable Long executions;

    Create(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      SandboxOptions options =
          shape
              .options()
              .withSessionKey(key)
              .withMetadata(metadata)
              .withIdleTimeout(idleTimeout == null ? null : Duration.ofSeconds(idleTimeout))
              .withOnIdle(onIdle)
              .withMaxLife(maxLife == null ? null : Duration.ofSeconds(maxLife))
              .withEphemeral(ephemeral ? true : null)
              .withVolume(volume)
              .withSnapshotId(snapshot)
              .withBudget(new SandboxOptions.Budget(cpuSeconds, egressBytes, executions))
              .withPackages(packages());
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        SandboxInfo info;
        try (Progress _ = console.progress("creating a sandbox")) {
          info = server.carrel().sandboxes().create(options).info();
        }
        if (common.json()) {
          console.json(info);
        } else if (quiet) {
          console.line(info.id());
        } else {
          console.line(info.id() + "  " + summary(console, info));
        }
        return installed(info);
      }
    }

    private List<SandboxOptions.Install> packages() {
      var wanted = new LinkedHashMap<String, List<String>>();
      for (String one : installs) {
        int colon = one.indexOf(':');
        if (colon < 1) {
          throw CommandFailure.usage(
              "'" + one + "' is not MANAGER:PACKAGE", "write pip:six, npm:is-odd or r:jsonlite");
        }
        wanted
            .computeIfAbsent(one.substring(0, colon), _ -> new ArrayList<>())
            .add(one.substring(colon + 1));
      }
      return wanted.entrySet().stream()
          .map(each -> new SandboxOptions.Install(each.getKey(), each.getValue(), false))
          .toList();
    }

    private int installed(SandboxInfo info) {
      int code = 0;
      for (Installation one : info.packages() == null ? List.<Installation>of() : info.packages()) {
        if (!one.success()) {
          session.console().error(one.manager() + " failed: " + one.stderr().strip());
          code = 1;
        }
      }
      return code;
    }
  }

  @Command(name = "list", aliases = "ls", description = "List your sandboxes, newest first.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(names = "--status", paramLabel = "STATUS", description = "Only those in this status.")
    private @Nullable String status;

    @Option(names = "--search", paramLabel = "TEXT", description = "Part of an id, key or image.")
    private @Nullable String search;

    @Option(names = "--namespace", paramLabel = "NAME", description = "Only those in it.")
    private @Nullable String namespace;

    @Option(names = "--page", paramLabel = "N", description = "From 1.")
    private int page = 1;

    @Option(names = "--page-size", paramLabel = "N", description = "At most 200.")
    private int pageSize = 50;

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      var query = new TreeMap<String, String>();
      query.put("page", Integer.toString(page));
      query.put("page_size", Integer.toString(pageSize));
      if (status != null) {
        query.put("status", status);
      }
      if (search != null) {
        query.put("search", search);
      }
      if (namespace != null) {
        query.put("namespace", namespace);
      }
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        Sandboxes.Page found = server.carrel().sandboxes().list(query);
        if (common.json()) {
          console.json(found);
        } else {
          show(console, found);
        }
      }
      return 0;
    }

    private static void show(Console console, Sandboxes.Page found) {
      if (found.items().isEmpty()) {
        console.note("no sandboxes; make one with: carrel sandbox create");
        return;
      }
      var rows = new ArrayList<List<String>>();
      for (SandboxInfo info : found.items()) {
        rows.add(
            List.of(
                info.id(),
                status(console, info),
                info.engine(),
                String.valueOf(info.isolation()),
                info.image(),
                info.memoryMb() + " MB",
                age(info.createdAt()),
                info.sessionKey() == null ? "" : console.safe(info.sessionKey())));
      }
      console.table(
          List.of("ID", "STATUS", "ENGINE", "ISOLATION", "IMAGE", "MEMORY", "AGE", "KEY"), rows);
      if (found.total() > found.items().size()) {
        console.note("%d of %d; see --page".formatted(found.items().size(), found.total()));
      }
    }
  }

  @Command(
      name = "show",
      description = "Show one sandbox, with the isolation that was really applied.")
  static final class Show implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    Show(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        SandboxInfo info = server.carrel().sandboxes().get(id).info();
        if (common.json()) {
          console.json(info);
        } else {
          show(console, info);
        }
      }
      return 0;
    }

    private static void show(Console console, SandboxInfo info) {
      var facts = new LinkedHashMap<String, String>();
      facts.put("id", info.id());
      facts.put("status", status(console, info));
      SandboxInfo.Failure failure = info.failure();
      if (failure != null) {
        facts.put("failure", failure.cause() + ": " + console.safe(failure.message()));
        facts.put("hint", console.safe(failure.hint()));
      }
      facts.put("namespace", info.namespace());
      if (info.frozen() != null) {
        facts.put("frozen", console.safe(info.frozen()));
      }
      if (!info.secrets().isEmpty()) {
        facts.put("secrets", String.join(", ", info.secrets()));
      }
      facts.put("image", info.image());
      facts.put("engine", info.engine() + suffix(info.runtime()));
      facts.put("isolation", String.valueOf(info.isolation()));
      facts.put(
          "limits",
          "%d MB memory, %s CPU, %d MB disk, %d processes"
              .formatted(info.memoryMb(), info.cpuCores(), info.diskMb(), info.pids()));
      facts.put("files", files(console, info));
      facts.put("created", Wording.time(info.createdAt()) + " (" + age(info.createdAt()) + " ago)");
      facts.put("used", age(info.lastActivityAt()) + " ago");
      facts.put("execs", info.execCount() + " in " + info.execTotalMs() + " ms");
      info.metadata()
          .forEach((name, value) -> facts.put("  " + console.safe(name), console.safe(value)));
      console.table(
          List.of(),
          facts.entrySet().stream().map(f -> List.of(f.getKey(), f.getValue())).toList());
      if (!info.isolationMeasures().isEmpty()) {
        console.line("");
        measures(console, info.isolationMeasures());
      }
    }
  }

  @Command(
      name = "delete",
      aliases = {"rm", "kill"},
      description = "End sandboxes and remove all their files, in whatever state they are.")
  static final class Delete implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(names = "--all", description = "Every sandbox of yours.")
    private boolean all;

    @Option(names = "--id", paramLabel = "ID", description = "The same as naming it.")
    private List<String> named = List.of();

    @Parameters(arity = "0..*", paramLabel = "ID", description = "The sandboxes.")
    private List<String> ids = List.of();

    Delete(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      List<String> chosen = Stream.concat(named.stream(), ids.stream()).toList();
      if (all == !chosen.isEmpty()) {
        throw CommandFailure.usage("name sandboxes, or say --all");
      }
      try (Session.Connection server = session.connect()) {
        Sandboxes sandboxes = server.carrel().sandboxes();
        return new Deletion(session.console())
            .each(all ? everyId(sandboxes) : chosen, sandboxes::delete)
            .told(common.json());
      }
    }

    private static List<String> everyId(Sandboxes sandboxes) {
      var found = new ArrayList<String>();
      Sandboxes.Page page;
      int number = 1;
      do {
        page = sandboxes.list(number++, 200);
        page.items().forEach(info -> found.add(info.id()));
      } while (found.size() < page.total() && !page.items().isEmpty());
      return found;
    }
  }

  static void measures(Console console, List<Measure> measures) {
    if (measures.stream().noneMatch(Measure::applied)) {
      console.line("  " + console.styled(Console.Style.BAD, "✗") + " no measure is applied");
      return;
    }
    var rows = new ArrayList<List<String>>();
    for (Measure measure : measures) {
      String mark =
          measure.applied()
              ? console.styled(Console.Style.GOOD, "✓")
              : console.styled(Console.Style.BAD, "✗");
      rows.add(List.of("  " + mark + " " + measure.name(), console.safe(measure.detail())));
    }
    console.table(List.of(), rows);
  }

  private static String summary(Console console, SandboxInfo info) {
    String text =
        "%s on %s, isolation: %s".formatted(info.status(), info.engine(), info.isolation());
    return "none".equals(info.isolation())
        ? console.styled(Console.Style.WARN, text)
        : console.styled(Console.Style.FAINT, text);
  }

  private static String status(Console console, SandboxInfo info) {
    return switch (info.status()) {
      case "running" -> console.styled(Console.Style.GOOD, info.status());
      case "failed" -> console.styled(Console.Style.BAD, info.status());
      default -> info.status();
    };
  }

  private static String files(Console console, SandboxInfo info) {
    if (info.volume() != null) {
      return "in your volume " + console.safe(info.volume());
    }
    return info.persistent() ? "kept when it stops" : "in memory, gone when it stops";
  }

  private static String suffix(String runtime) {
    return runtime.isEmpty() ? "" : " (" + runtime + ")";
  }

  private static String age(Instant since) {
    Duration age = Duration.between(since, Instant.now());
    if (age.toDays() > 0) {
      return age.toDays() + "d";
    }
    if (age.toHours() > 0) {
      return age.toHours() + "h";
    }
    return age.toMinutes() > 0 ? age.toMinutes() + "m" : Math.max(0, age.toSeconds()) + "s";
  }
}
