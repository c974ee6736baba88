package dev.carrel.cli;

import dev.carrel.sdk.QueueStatus;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
    name = "queue",
    description = "Show who runs and who waits on the server, and where your own requests stand.",
    footerHeading = "%nExamples:%n",
    footer = {"  carrel queue", "  carrel queue --json"})
final class QueueCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(arity = "0..1", paramLabel = "status", description = "May be left out.")
  private String what = "status";

  QueueCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (!what.equals("status")) {
      throw CommandFailure.usage("the queue has a status and nothing else");
    }
    try (Session.Connection server = session.connect()) {
      QueueStatus queue = server.carrel().queue();
      if (common.json()) {
        session.console().json(queue);
        return 0;
      }
      print(
          List.of("KIND", "RUNNING", "LIMIT", "WAITING", "AT MOST"),
          queue.lines().stream()
              .map(
                  line ->
                      List.of(
                          line.kind(),
                          Integer.toString(line.running()),
                          Integer.toString(line.limit()),
                          Integer.toString(line.waiting()),
                          Integer.toString(line.maxWaiting())))
              .toList());
      if (!queue.waiting().isEmpty()) {
        print(
            List.of("YOUR REQUEST", "POSITION", "WAITED", "SANDBOX"),
            queue.waiting().stream()
                .map(
                    request ->
                        List.of(
                            request.kind(),
                            Integer.toString(request.position()),
                            "%.1f s".formatted(request.waitedMs() / 1000),
                            request.sandboxId() == null ? "-" : request.sandboxId()))
                .toList());
      }
      return 0;
    }
  }

  private void print(List<String> head, List<List<String>> rows) {
    new Table(head, rows).lines().forEach(session.console()::line);
  }
}
