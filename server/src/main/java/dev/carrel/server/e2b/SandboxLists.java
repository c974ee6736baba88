package dev.carrel.server.e2b;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxPage;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxUsage;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.sandbox.Snapshot;
import dev.carrel.control.sandbox.Snapshots;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.PercentCoding;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Lists with their filters and pages, measurements, and snapshots. */
final class SandboxLists {
  private static final HeaderName NEXT = HeaderNames.create("x-next-token");
  private static final int USUAL_PAGE = 100;

  private final Door door;
  private final Sandboxes sandboxes;
  private final Snapshots snapshots;
  private final String domain;
  private final Measures measures = new Measures();

  SandboxLists(Door door, Sandboxes sandboxes, String domain) {
    this.door = door;
    this.sandboxes = sandboxes;
    this.snapshots = sandboxes.snapshots();
    this.domain = domain;
  }

  void addTo(Router router) {
    router
        .open("GET", "/sandboxes", door.guarded(this::list))
        .open("GET", "/v2/sandboxes", door.guarded(this::list))
        .open("GET", "/sandboxes/{id}/metrics", door.guarded(this::metrics))
        .open("POST", "/sandboxes/{id}/snapshots", door.guarded(this::snapshot))
        .open("GET", "/snapshots", door.guarded(this::snapshots))
        .open("DELETE", "/templates/{id}", door.guarded(this::deleteTemplate));
  }

  private void list(Exchange exchange, Caller caller) {
    List<String> states =
        List.of(exchange.query().text("state").orElse("running,paused").split(",", -1));
    Map<String, String> wanted = metadata(exchange.query().text("metadata").orElse(""));
    Instant after = instant(exchange.query().text("startedAfter").orElse(""));
    String template = exchange.query().text("template").orElse("");
    boolean ascending = exchange.query().text("order").orElse("desc").equals("asc");
    Predicate<Sandbox> match =
        sandbox ->
            SandboxViews.isThere(sandbox)
                && states.contains(SandboxViews.isPaused(sandbox) ? "paused" : "running")
                && sandbox.metadata().entrySet().containsAll(wanted.entrySet())
                && !SandboxViews.started(sandbox).isBefore(after)
                && (template.isEmpty() || SandboxViews.template(sandbox).equals(template));
    List<SandboxViews.Detail> all =
        all(caller, ascending).stream()
            .filter(match)
            .map(sandbox -> SandboxViews.Detail.of(sandbox, null, domain))
            .toList();
    page(exchange, all);
  }

  /** An administrator's as well: clients go through a list to kill all that is in it. */
  private List<Sandbox> all(Caller caller, boolean ascending) {
    var all = new ArrayList<Sandbox>();
    for (int number = 1; ; number++) {
      SandboxPage page =
          sandboxes.list(
              caller.inOwnTenant(),
              new SandboxQuery(
                  number,
                  SandboxQuery.MAX_PAGE_SIZE,
                  null,
                  null,
                  null,
                  SandboxQuery.SortBy.CREATED_AT,
                  !ascending));
      all.addAll(page.items());
      if (page.items().size() < SandboxQuery.MAX_PAGE_SIZE) {
        return all;
      }
    }
  }

  private static void page(Exchange exchange, List<?> all) {
    int size = (int) exchange.query().number("limit", USUAL_PAGE, 1, 1000);
    int from = (int) exchange.query().number("nextToken", 0, 0, Integer.MAX_VALUE);
    int to = (int) Math.min(all.size(), (long) from + size);
    if (to < all.size()) {
      exchange.header(NEXT, String.valueOf(to));
    }
    Wire.json(exchange, 200, from >= all.size() ? List.of() : all.subList(from, to));
  }

  /** Pairs as in a form, of which each name and value was encoded once before. */
  private static Map<String, String> metadata(String text) {
    var pairs = new LinkedHashMap<String, String>();
    for (String pair : text.isEmpty() ? new String[0] : text.split("&", -1)) {
      int equals = pair.indexOf('=');
      if (equals < 1) {
        throw SandboxException.invalid("metadata", "must be pairs of a name and a value");
      }
      pairs.put(decoded(pair.substring(0, equals)), decoded(pair.substring(equals + 1)));
    }
    return pairs;
  }

  private static String decoded(String text) {
    return PercentCoding.query(PercentCoding.query(text, "metadata"), "metadata");
  }

  private static Instant instant(String text) {
    try {
      return text.isEmpty() ? Instant.MIN : Instant.parse(text);
    } catch (DateTimeParseException e) {
      throw SandboxException.invalid("startedAfter", "must be a time as 2026-01-01T00:00:00Z");
    }
  }

  private void metrics(Exchange exchange, Caller caller) {
    var id = new SandboxId(exchange.parameter("id"));
    SandboxUsage usage = sandboxes.usage(caller, id);
    if (!SandboxViews.isThere(usage.sandbox())) {
      Wire.json(exchange, 404, new Failures.Body(404, "sandbox '" + id + "' not found"));
      return;
    }
    Instant now = Instant.now();
    long start = exchange.query().number("start", 0, 0, Long.MAX_VALUE);
    long end = exchange.query().number("end", Long.MAX_VALUE, 0, Long.MAX_VALUE);
    boolean asked = start <= now.getEpochSecond() && now.getEpochSecond() <= end;
    if (!asked) {
      Wire.json(exchange, 200, List.of());
      return;
    }
    double share =
        measures.share(id, SandboxViews.started(usage.sandbox()), usage.usage().cpuNanos(), now);
    Wire.json(exchange, 200, List.of(Metric.of(usage, share, now)));
  }

  /** One measurement; sizes are bytes. */
  record Metric(
      String timestamp,
      long timestampUnix,
      double cpuCount,
      double cpuUsedPct,
      long memUsed,
      long memTotal,
      long memCache,
      long diskUsed,
      long diskTotal) {
    static Metric of(SandboxUsage usage, double share, Instant now) {
      var limits = usage.sandbox().limits();
      return new Metric(
          now.toString(),
          now.getEpochSecond(),
          Math.max(1, Math.ceil(limits.cpus())),
          share,
          usage.usage().memoryBytes(),
          limits.memory().bytes(),
          0,
          0,
          limits.disk().bytes());
    }
  }

  private void snapshot(Exchange exchange, Caller caller) throws IOException {
    String name = exchange.fields().string("name");
    Snapshot made = snapshots.create(caller, new SandboxId(exchange.parameter("id")), name);
    Wire.json(exchange, 201, SnapshotView.of(made));
  }

  private void snapshots(Exchange exchange, Caller caller) {
    var of = exchange.query().text("sandboxID");
    List<Snapshot> all =
        of.isPresent()
            ? snapshots.list(caller, new SandboxId(of.get()))
            : snapshots.list(caller.inOwnTenant());
    page(exchange, all.stream().map(SnapshotView::of).toList());
  }

  private void deleteTemplate(Exchange exchange, Caller caller) {
    snapshots.delete(caller, new SnapshotId(exchange.parameter("id")));
    exchange.noContent();
  }

  /** A snapshot; sandboxes are made of it as of a template. */
  record SnapshotView(String snapshotID, List<String> names) {
    static SnapshotView of(Snapshot snapshot) {
      return new SnapshotView(
          snapshot.id().value(), snapshot.name() == null ? List.of() : List.of(snapshot.name()));
    }
  }
}
