package dev.carrel.server.rest;

import dev.carrel.control.audit.Activity;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What went on in a sandbox lately. */
final class ActivityRoutes {
  private static final int USUAL = 50;
  private static final int MOST = 200;

  private final Sandboxes sandboxes;
  private final Audit audit;

  ActivityRoutes(Sandboxes sandboxes, Audit audit) {
    this.sandboxes = sandboxes;
    this.audit = audit;
  }

  void addTo(Router router) {
    router.get("/api/v1/sandboxes/{id}/activity", this::list);
  }

  private void list(Exchange exchange) {
    SandboxId id = Ids.sandbox(exchange);
    sandboxes.requireVisible(exchange.caller(), id);
    int limit = (int) exchange.query().number("limit", USUAL, 1, MOST);
    exchange.json(
        200,
        new ActivityList(
            audit.activity(exchange.caller(), id, limit).stream().map(ActivityView::of).toList()));
  }

  record ActivityList(List<ActivityView> activity) {}

  record ActivityView(
      long id,
      String at,
      String kind,
      @Nullable String subject,
      String principal,
      String outcome,
      @Nullable Integer exitCode,
      @Nullable Double durationMs) {
    static ActivityView of(Activity activity) {
      Duration duration = activity.duration();
      return new ActivityView(
          activity.id(),
          activity.at().toString(),
          activity.kind(),
          activity.subject(),
          activity.principal(),
          activity.outcome(),
          activity.exitCode(),
          duration == null ? null : ExecViews.millis(duration));
    }
  }
}
