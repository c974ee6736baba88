package dev.carrel.cli;

import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.SandboxUsage;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "top",
    description = {
      "Show what the running sandboxes use.",
      "",
      "On a terminal the table is renewed until q or Ctrl-C; elsewhere it is printed once."
    },
    footerHeading = "%nExamples:%n",
    footer = {"  carrel top", "  carrel top --sort memory --once"})
final class TopCommand implements Callable<Integer> {
  private static final Duration GLANCE = Duration.ofMillis(500);
  private static final double NANOS = 1e9;
  private static final String HOME_AND_CLEAR = "\033[H\033[J";
  private static final String HIDE_CURSOR = "\033[?25l";
  private static final String SHOW_CURSOR = "\033[?25h";

  private final Session session;
  private final CountDownLatch quit = new CountDownLatch(1);
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(
      names = {"-s", "--sort"},
      paramLabel = "KEY",
      completionCandidates = Choices.Sorts.class,
      description = "cpu (default), memory, processes, age or idle.")
  private Sort sort = Sort.CPU;

  @Option(
      names = {"-i", "--interval"},
      paramLabel = "SECONDS",
      description = "Between two looks (default: 2).")
  private double interval = 2;

  @Option(
      names = {"-1", "--once"},
      description = "Print the table once, also on a terminal.")
  private boolean once;

  TopCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException {
    boolean follow = !common.json() && !once && session.terminal().isTerminal(1);
    try (Session.Connection server = session.connect(follow)) {
      if (follow) {
        follow(server.carrel());
      } else {
        glance(server.carrel());
      }
      return 0;
    }
  }

  private void glance(Carrel carrel) throws InterruptedException {
    Look before = Look.at(carrel, Map.of(), 0);
    quit.await(GLANCE.toMillis(), TimeUnit.MILLISECONDS);
    Look now = Look.at(carrel, before.cpuSeconds(), before.nanos());
    List<Row> rows = sorted(now);
    if (common.json()) {
      session.console().json(rows);
    } else {
      table(rows).forEach(session.console()::line);
    }
  }

  private void follow(Carrel carrel) throws InterruptedException {
    Terminal terminal = session.terminal();
    Console console = session.console();
    try (Signals.Handling _ = Signals.handle("INT", quit::countDown);
        AtExit _ = terminal.enterKeyMode();
        AtExit _ = AtExit.run(() -> console.out().print(SHOW_CURSOR))) {
      Thread.ofPlatform().daemon().name("keys").start(() -> awaitQuit(session.in()));
      console.out().print(HIDE_CURSOR);
      Look look = Look.at(carrel, Map.of(), 0);
      boolean over = quit.await(GLANCE.toMillis(), TimeUnit.MILLISECONDS);
      while (!over) {
        look = Look.at(carrel, look.cpuSeconds(), look.nanos());
        draw(console, terminal.size(), sorted(look));
        over = quit.await(Math.round(Math.max(interval, 0.1) * 1000), TimeUnit.MILLISECONDS);
      }
    }
  }

  private void draw(Console console, Terminal.Size size, List<Row> rows) {
    var text = new StringBuilder(HOME_AND_CLEAR);
    text.append(
        "%d sandboxes, sorted by %s; q ends%n"
            .formatted(rows.size(), sort.name().toLowerCase(Locale.ROOT)));
    table(rows).stream()
        .limit(Math.max(1, size.rows() - 2))
        .forEach(line -> text.append(cut(line, size.columns())).append(System.lineSeparator()));
    console.out().print(text);
    console.out().flush();
  }

  private void awaitQuit(InputStream in) {
    try {
      for (int key = in.read(); key >= 0; key = in.read()) {
        if (key == 'q' || key == 'Q' || key == 3) {
          quit.countDown();
          return;
        }
      }
    } catch (IOException noKeys) {
      // Without keys it goes on until a signal ends it.
      return;
    }
  }

  private List<Row> sorted(Look look) {
    Comparator<Row> order =
        switch (sort) {
          case CPU -> Comparator.comparingDouble(Row::cpuPercent).reversed();
          case MEMORY -> Comparator.comparingLong(Row::memoryBytes).reversed();
          case PROCESSES -> Comparator.comparingLong(Row::processes).reversed();
          case AGE -> Comparator.comparingLong(Row::ageSeconds).reversed();
          case IDLE -> Comparator.comparingLong(Row::idleSeconds).reversed();
        };
    return look.rows().stream().sorted(order.thenComparing(Row::id)).toList();
  }

  private static List<String> table(List<Row> rows) {
    var lines = new ArrayList<List<String>>();
    for (Row row : rows) {
      lines.add(
          List.of(
              row.id(),
              row.status(),
              row.engine(),
              "%.1f".formatted(row.cpuPercent()),
              "%d/%d".formatted(row.memoryBytes() >> 20, row.memoryLimitBytes() >> 20),
              Long.toString(row.processes()),
              brief(row.ageSeconds()),
              brief(row.idleSeconds()),
              row.lastCommand()));
    }
    return new Table(
            List.of(
                "ID",
                "STATE",
                "ENGINE",
                "CPU %",
                "MEM MiB",
                "PROCS",
                "AGE",
                "IDLE",
                "LAST COMMAND"),
            lines)
        .lines();
  }

  private static String cut(String line, int columns) {
    return line.length() > columns ? line.substring(0, columns) : line;
  }

  private static String brief(long seconds) {
    if (seconds < 120) {
      return seconds + "s";
    }
    if (seconds < 7200) {
      return seconds / 60 + "m";
    }
    return seconds < 172_800 ? seconds / 3600 + "h" : seconds / 86_400 + "d";
  }

  /** What the table can be ordered by. */
  enum Sort {
    CPU,
    MEMORY,
    PROCESSES,
    AGE,
    IDLE
  }

  /** A line of the table. */
  record Row(
      String id,
      String status,
      String engine,
      double cpuPercent,
      long memoryBytes,
      long memoryLimitBytes,
      long processes,
      long ageSeconds,
      long idleSeconds,
      String lastCommand) {}

  /** All at one moment; the load is that since the look before. */
  private record Look(List<Row> rows, Map<String, Double> cpuSeconds, long nanos) {
    static Look at(Carrel carrel, Map<String, Double> before, long beforeNanos) {
      List<SandboxUsage> all = carrel.usage();
      long nanos = System.nanoTime();
      Instant now = Instant.now();
      var seconds = new HashMap<String, Double>();
      var rows = new ArrayList<Row>();
      for (SandboxUsage one : all) {
        seconds.put(one.id(), one.cpuSeconds());
        Double earlier = before.get(one.id());
        double load =
            earlier == null
                ? 0
                : Math.max(0, one.cpuSeconds() - earlier) * 100 * NANOS / (nanos - beforeNanos);
        rows.add(
            new Row(
                one.id(),
                one.status(),
                one.engine(),
                load,
                one.memoryBytes(),
                one.memoryLimitBytes(),
                one.processes(),
                Duration.between(one.createdAt(), now).toSeconds(),
                Duration.between(one.lastActivityAt(), now).toSeconds(),
                one.lastCommand() == null ? "" : one.lastCommand()));
      }
      return new Look(rows, seconds, nanos);
    }
  }
}
