package dev.carrel.server.rest;

import dev.carrel.control.admission.Line;
import dev.carrel.control.admission.Queue;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Who runs and who waits. */
final class QueueRoutes {
  private final Queue queue;

  QueueRoutes(Queue queue) {
    this.queue = queue;
  }

  void addTo(Router router) {
    router.get("/api/v1/queue", this::queue);
  }

  private void queue(Exchange exchange) {
    List<Line.Snapshot> lines = queue.snapshot(exchange.caller().tenant());
    exchange.json(
        200,
        new QueueView(
            lines.stream().map(LineView::of).toList(),
            lines.stream().flatMap(line -> line.own().stream()).map(WaitingRequest::of).toList()));
  }

  record QueueView(List<LineView> lines, List<WaitingRequest> waiting) {}

  record LineView(String kind, int running, int waiting, int limit, int maxWaiting) {
    static LineView of(Line.Snapshot line) {
      return new LineView(
          line.kind().wireName(), line.running(), line.waiting(), line.limit(), line.maxWaiting());
    }
  }

  record WaitingRequest(
      String kind, int position, String since, double waitedMs, @Nullable String sandboxId) {
    static WaitingRequest of(Line.Snapshot.Request request) {
      SandboxId sandbox = request.sandbox();
      return new WaitingRequest(
          request.kind().wireName(),
          request.position(),
          request.since().toString(),
          ExecViews.millis(Duration.between(request.since(), Instant.now())),
          sandbox == null ? null : sandbox.value());
    }
  }

  /** While a request waits. */
  record Queued(int position) {}
}
