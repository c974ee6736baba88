package dev.carrel.server.rest;

import dev.carrel.control.budget.Budgets;
import dev.carrel.control.sandbox.Bulk;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.SandboxPage;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxQuery.Further;
import dev.carrel.control.sandbox.SandboxQuery.SortBy;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.skill.Skills;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Query;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Every tenant's sandboxes at once, for administrators. */
final class AdminRoutes {
  private static final String ALL = "/api/v1/admin/sandboxes";
  private static final int PAGE = 50;

  private final Sandboxes sandboxes;
  private final Skills skills;
  private final Bulk bulk;
  private final Budgets budgets;
  private final Supplier<Duration> retention;

  /**
   * @param retention how long a sandbox that has ended is kept
   */
  AdminRoutes(Sandboxes sandboxes, Skills skills, Budgets budgets, Supplier<Duration> retention) {
    this.sandboxes = sandboxes;
    this.budgets = budgets;
    this.skills = skills;
    this.retention = retention;
    this.bulk = new Bulk(sandboxes);
  }

  void addTo(Router router) {
    router
        .get(ALL, this::list)
        .post(ALL + "/bulk-stop", exchange -> many(exchange, bulk::stop))
        .post(ALL + "/bulk-delete", exchange -> many(exchange, bulk::delete));
  }

  static void requireAdmin(Caller caller) {
    if (caller.role() != Caller.Role.ADMIN) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "only an administrator may do this")
          .withHint("use the token of the server's own token file");
    }
  }

  private void list(Exchange exchange) {
    requireAdmin(exchange.caller());
    Query query = exchange.query();
    SandboxQuery asked =
        query(
            (int) query.number("page", 1, 1, Integer.MAX_VALUE),
            (int) query.number("page_size", PAGE, 1, SandboxQuery.MAX_PAGE_SIZE),
            query.text("status").orElse(null),
            query.text("exclude_status").orElse(null),
            query.text("user_id").orElse(null),
            query.text("image").orElse(null));
    SandboxPage page = sandboxes.list(exchange.caller(), asked);
    exchange.json(
        200, SandboxRoutes.Page.of(page, skills.of(page.items()), budgets, retention.get()));
  }

  private void many(Exchange exchange, Work work) throws IOException, InterruptedException {
    requireAdmin(exchange.caller());
    Fields fields = exchange.fields();
    Bulk.Found found = find(exchange.caller(), fields);
    Bulk.Outcome outcome = work.on(exchange.caller(), found.ids());
    exchange.json(
        200,
        new Outcome(
            outcome.stopped(),
            outcome.destroyed(),
            outcome.skipped(),
            outcome.failed().stream()
                .map(
                    failed ->
                        new Failed(
                            failed.id().value(),
                            failed.failure().code().wireName(),
                            failed.failure().message()))
                .toList(),
            found.left()));
  }

  private Bulk.Found find(Caller caller, Fields fields) {
    Optional<List<String>> named = fields.words("sandbox_ids");
    Fields filter = fields.object("filter");
    if (named.isPresent() == (filter != null)) {
      throw fields.wrong("sandbox_ids", "or filter must be given, and not both");
    }
    if (filter != null) {
      return bulk.find(
          caller,
          query(
              1,
              SandboxQuery.MAX_PAGE_SIZE,
              filter.string("status"),
              filter.string("exclude_status"),
              filter.string("user_id"),
              filter.string("image")));
    }
    List<String> ids = named.orElseThrow();
    if (ids.size() > Bulk.MOST) {
      throw fields.wrong("sandbox_ids", "must be at most " + Bulk.MOST);
    }
    return new Bulk.Found(ids.stream().distinct().map(SandboxId::new).toList(), 0);
  }

  private static SandboxQuery query(
      int page,
      int size,
      @Nullable String status,
      @Nullable String excluded,
      @Nullable String user,
      @Nullable String image) {
    return new SandboxQuery(
        page,
        size,
        status == null ? null : SandboxStatus.parse(status),
        null,
        null,
        null,
        SortBy.CREATED_AT,
        true,
        new Further(excluded == null ? null : SandboxStatus.parse(excluded), user, image));
  }

  private interface Work {
    Bulk.Outcome on(Caller caller, List<SandboxId> ids) throws InterruptedException;
  }

  record Outcome(long stopped, long destroyed, long skipped, List<Failed> errors, long left) {}

  record Failed(String sandboxId, String code, String message) {}
}
