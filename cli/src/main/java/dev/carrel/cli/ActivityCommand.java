package dev.carrel.cli;

import dev.carrel.sdk.ActivityInfo;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "activity",
    description = "Show what went on in a sandbox: commands, code, files, starts and stops.",
    footerHeading = "%nExamples:%n",
    footer = {"  carrel activity ID", "  carrel activity ID -n 100 --json"})
final class ActivityCommand implements Callable<Integer> {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("MM-dd HH:mm:ss").withZone(ZoneId.systemDefault());
  private static final int MAX_SUBJECT = 60;

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Option(
      names = {"-n", "--limit"},
      paramLabel = "N",
      description = "How much of it, at most 200; ${DEFAULT-VALUE} unless said.")
  private int limit = 50;

  ActivityCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      List<ActivityInfo> activity = server.carrel().sandboxes().get(id).activity(limit);
      if (common.json()) {
        console.json(Map.of("activity", activity));
        return 0;
      }
      var rows = new ArrayList<List<String>>();
      // The newest where the eye is, above the prompt.
      for (ActivityInfo item : activity.reversed()) {
        rows.add(
            List.of(
                TIME.format(item.at()),
                item.kind(),
                item.subject() == null ? "" : console.safe(shortened(item.subject())),
                item.exitCode() == null ? item.outcome() : item.outcome() + " " + item.exitCode(),
                item.durationMs() == null ? "" : "%.0f ms".formatted(item.durationMs()),
                console.safe(item.principal())));
      }
      console.table(List.of("AT", "WHAT", "SUBJECT", "OUTCOME", "TOOK", "BY"), rows);
    }
    return 0;
  }

  private static String shortened(String text) {
    String line = text.replaceAll("\\s+", " ").strip();
    return line.length() <= MAX_SUBJECT ? line : line.substring(0, MAX_SUBJECT - 1) + "…";
  }
}
