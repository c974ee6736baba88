package dev.carrel.cli;

import dev.carrel.sdk.EventStream;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "events",
    description = "Show what happened lately, or what happens now.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel events --limit 20",
      "  carrel events --follow --type execution,sandbox.stopped",
      "  carrel events --follow --json > events.jsonl"
    })
final class EventsCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(names = "--follow", description = "Show events as they happen, until interrupted.")
  private boolean follow;

  @Option(names = "--namespace", paramLabel = "NAME", description = "Only of this namespace.")
  private @Nullable String namespace;

  @Option(names = "--sandbox", paramLabel = "ID", description = "Only of this sandbox.")
  private @Nullable String sandbox;

  @Option(
      names = "--type",
      paramLabel = "WORDS",
      description = "Only these, such as execution,sandbox.stopped.")
  private @Nullable String type;

  @Option(
      names = "--after",
      paramLabel = "ID",
      description = "With --follow: from the event after this one on.")
  private @Nullable Long after;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "50",
      description = "Without --follow: at most so many (default: ${DEFAULT-VALUE}).")
  private int limit;

  EventsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    var filter = new EventStream.Filter(namespace, sandbox, type);
    Console console = session.console();
    try (Session.Connection server = session.connect(follow)) {
      if (follow) {
        follow(server.carrel().events(filter, after));
        return 0;
      }
      List<EventStream.Event> events = server.carrel().recentEvents(filter, limit);
      if (common.json()) {
        console.json(Map.of("events", events));
      } else if (events.isEmpty()) {
        console.note("nothing happened lately");
      } else {
        console.table(
            List.of("ID", "TIME", "TYPE", "SANDBOX", "DETAILS"),
            events.stream().map(this::row).toList());
      }
      return 0;
    }
  }

  private void follow(EventStream stream) {
    try (EventStream events = stream) {
      for (EventStream.Event event : events) {
        if (common.json()) {
          session.console().jsonLine(event);
        } else {
          session.console().line(String.join("  ", row(event)));
        }
      }
    }
  }

  private List<String> row(EventStream.Event event) {
    String details =
        new TreeMap<>(event.details())
            .entrySet().stream()
                .map(detail -> detail.getKey() + "=" + detail.getValue())
                .collect(Collectors.joining(" "));
    return List.of(
        Long.toString(event.id()),
        Wording.time(event.at()),
        event.kind(),
        event.sandboxId() == null ? "-" : event.sandboxId(),
        session.console().safe(details));
  }
}
