package dev.carrel.server.rest;

import dev.carrel.control.budget.Budgets;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Snapshot;
import dev.carrel.control.sandbox.Snapshots;
import dev.carrel.control.skill.Skills;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SnapshotId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Copies of sandboxes' files, and what is made of them. */
final class SnapshotRoutes {
  private static final String SANDBOX = "/api/v1/sandboxes/{id}";
  private static final String ALL = "/api/v1/snapshots";
  private static final String ONE = ALL + "/{sid}";

  private final Snapshots snapshots;
  private final Skills skills;
  private final Budgets budgets;
  private final Supplier<Duration> retention;

  /**
   * @param retention how long a sandbox that has ended is kept
   */
  SnapshotRoutes(
      Snapshots snapshots, Skills skills, Budgets budgets, Supplier<Duration> retention) {
    this.budgets = budgets;
    this.retention = retention;
    this.snapshots = snapshots;
    this.skills = skills;
  }

  void addTo(Router router) {
    router
        .post(SANDBOX + "/snapshots", this::create)
        .get(SANDBOX + "/snapshots", this::listOfOne)
        .post(SANDBOX + "/restore", this::restore)
        .post(SANDBOX + "/fork", this::fork)
        .get(ALL, this::list)
        .get(ONE, this::get)
        .delete(ONE, this::delete);
  }

  private void create(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    Snapshot snapshot =
        snapshots.create(exchange.caller(), Ids.sandbox(exchange), fields.string("name"));
    exchange.header(HeaderNames.LOCATION, ALL + "/" + snapshot.id()).json(201, View.of(snapshot));
  }

  private void listOfOne(Exchange exchange) {
    exchange.json(200, Page.of(snapshots.list(exchange.caller(), Ids.sandbox(exchange))));
  }

  private void list(Exchange exchange) {
    exchange.json(200, Page.of(snapshots.list(exchange.caller())));
  }

  private void get(Exchange exchange) {
    exchange.json(200, View.of(snapshots.get(exchange.caller(), id(exchange))));
  }

  private void delete(Exchange exchange) {
    snapshots.delete(exchange.caller(), id(exchange));
    exchange.noContent();
  }

  private void restore(Exchange exchange) throws IOException {
    var snapshot = new SnapshotId(exchange.fields().requiredString("snapshot_id"));
    Sandbox restored = snapshots.restore(exchange.caller(), Ids.sandbox(exchange), snapshot);
    exchange.json(200, view(restored));
  }

  private void fork(Exchange exchange) {
    Sandbox made = snapshots.fork(exchange.caller(), Ids.sandbox(exchange));
    exchange.header(HeaderNames.LOCATION, "/api/v1/sandboxes/" + made.id()).json(201, view(made));
  }

  private SandboxView view(Sandbox sandbox) {
    return SandboxView.of(sandbox, skills.of(sandbox), budgets.find(sandbox), retention.get());
  }

  private static SnapshotId id(Exchange exchange) {
    return new SnapshotId(exchange.parameter("sid"));
  }

  record Page(List<View> snapshots) {
    static Page of(List<Snapshot> snapshots) {
      return new Page(snapshots.stream().map(View::of).toList());
    }
  }

  record View(
      String id,
      String sandboxId,
      @Nullable String name,
      String image,
      String engine,
      long sizeMb,
      long usedBytes,
      String createdAt) {
    static View of(Snapshot snapshot) {
      return new View(
          snapshot.id().value(),
          snapshot.sandbox().value(),
          snapshot.name(),
          snapshot.image(),
          snapshot.engine(),
          snapshot.size().mebibytes(),
          snapshot.usedBytes(),
          snapshot.createdAt().toString());
    }
  }
}
