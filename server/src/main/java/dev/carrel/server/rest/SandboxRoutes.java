package dev.carrel.server.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.admission.Creates;
import dev.carrel.control.budget.Budgets;
import dev.carrel.control.furnish.Furnishing;
import dev.carrel.control.furnish.Furnishings;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.OnIdle;
import dev.carrel.control.sandbox.PatchSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxPage;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.skill.Installed;
import dev.carrel.control.skill.Skills;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Query;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The life of sandboxes. */
final class SandboxRoutes {
  private static final String ALL = "/api/v1/sandboxes";
  private static final String ONE = ALL + "/{id}";
  private static final HeaderName QUEUED = HeaderNames.create("X-Carrel-Queued-Ms");
  private static final long MOST = Integer.MAX_VALUE;

  /** What only its making can say. */
  private static final List<String> FIXED =
      List.of(
          "image",
          "engine",
          "isolation",
          "isolated",
          "rootfs",
          "ephemeral",
          "volume",
          "snapshot_id",
          "session_key",
          "namespace",
          "secrets",
          "budget",
          "packages");

  private final Sandboxes sandboxes;
  private final Furnishings furnishings;
  private final Skills skills;
  private final Budgets budgets;
  private final Supplier<Duration> retention;

  /**
   * @param retention how long one that has ended is kept
   */
  SandboxRoutes(
      Sandboxes sandboxes,
      Furnishings furnishings,
      Skills skills,
      Budgets budgets,
      Supplier<Duration> retention) {
    this.sandboxes = sandboxes;
    this.furnishings = furnishings;
    this.budgets = budgets;
    this.skills = skills;
    this.retention = retention;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::create)
        .get(ALL, this::list)
        .get(ONE, this::get)
        .patch(ONE, this::patch)
        .delete(ONE, this::delete)
        .post(ONE + "/start", exchange -> change(exchange, sandboxes::start))
        .post(ONE + "/stop", exchange -> change(exchange, sandboxes::stop))
        .post(ONE + "/pause", exchange -> change(exchange, sandboxes::pause))
        .post(ONE + "/resume", exchange -> change(exchange, sandboxes::resume));
  }

  private void create(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    CreateSandbox request = creation(fields);
    Furnishing furnishing = furnishing(fields);
    exchange.cancelWhenClientLeaves();
    Furnishings.Furnished furnished =
        furnishings.create(
            exchange.caller(), request, furnishing, Keys.of(exchange, fields), exchange::settle);
    Creates.Created created = furnished.created();
    // What was installed may have moved its counters.
    Sandbox sandbox =
        furnished.installations().isEmpty()
            ? created.sandbox()
            : sandboxes.get(exchange.caller(), created.sandbox().id());
    List<PackageRoutes.View> installed =
        furnished.installations().isEmpty()
            ? null
            : furnished.installations().stream().map(PackageRoutes.View::of).toList();
    Keys.replayed(exchange, created.replay());
    exchange
        .header(HeaderNames.LOCATION, ALL + "/" + sandbox.id())
        .header(QUEUED, Double.toString(ExecViews.millis(created.queued())))
        .json(
            created.made() ? 201 : 200,
            SandboxView.of(
                sandbox, skills.of(sandbox), budgets.find(sandbox), retention.get(), installed));
  }

  private static Furnishing furnishing(Fields fields) {
    Fields budget = fields.object("budget");
    List<Fields> installs =
        fields.has("packages") && !fields.isNull("packages")
            ? fields.objects("packages")
            : List.of();
    return Furnishing.of(
        budget == null ? Map.of() : BudgetRoutes.limits(budget),
        installs.stream().map(PackageRoutes::request).toList());
  }

  // NullAway does not see the annotation of a nested type's component in a class file.
  @SuppressWarnings("NullAway")
  private static CreateSandbox creation(Fields fields) {
    return new CreateSandbox(
        fields.string("image"),
        fields.string("engine"),
        isolation(fields),
        fields.bool("isolated"),
        size(fields),
        expiry(fields),
        storage(fields),
        EgressRoutes.network(fields),
        orEmpty(fields.stringMap("env_vars")),
        orEmpty(fields.stringMap("metadata")),
        fields.string("session_key"),
        fields.string("namespace"),
        fields.words("secrets").orElse(List.of()));
  }

  private void list(Exchange exchange) {
    Query query = exchange.query();
    SandboxPage page =
        sandboxes.list(
            exchange.caller(),
            new SandboxQuery(
                    (int) query.number("page", 1, 1, MOST),
                    (int) query.number("page_size", 20, 1, SandboxQuery.MAX_PAGE_SIZE),
                    query.text("status").map(SandboxStatus::parse).orElse(null),
                    query.text("search").orElse(null),
                    query.text("image").orElse(null),
                    query
                        .text("sort_by")
                        .map(SandboxQuery.SortBy::parse)
                        .orElse(SandboxQuery.SortBy.CREATED_AT),
                    descending(query.text("sort_order").orElse("desc")))
                .in(query.text("namespace").orElse(null)));
    exchange.json(200, Page.of(page, skills.of(page.items()), budgets, retention.get()));
  }

  private void get(Exchange exchange) {
    exchange.json(200, view(sandboxes.get(exchange.caller(), Ids.sandbox(exchange))));
  }

  private void patch(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    requireSame(fields, view(sandboxes.get(exchange.caller(), Ids.sandbox(exchange))));
    var patch =
        new PatchSandbox(
            size(fields),
            expiry(fields),
            EgressRoutes.network(fields),
            fields.stringMap("env_vars"),
            fields.stringMap("metadata"));
    exchange.json(200, view(sandboxes.patch(exchange.caller(), Ids.sandbox(exchange), patch)));
  }

  /** Nobody must believe of what never changes that it did. To ask for what is so is no change. */
  private static void requireSame(Fields fields, SandboxView now) {
    ObjectNode view = Json.tree(now).put("ephemeral", !now.persistent());
    for (String name : FIXED) {
      JsonNode asked = fields.json(name);
      if (asked != null
          && !asked.isNull()
          && !asked.toString().equals(String.valueOf(view.get(name)))) {
        throw new SandboxException(
                ErrorCode.WRONG_STATE, name + ": cannot be changed by a PATCH, and is as it was")
            .withHint(
                name.equals("budget")
                    ? "PUT it to the sandbox's /budget"
                    : "create a new sandbox with what you need");
      }
    }
  }

  private void delete(Exchange exchange) {
    sandboxes.delete(exchange.caller(), Ids.sandbox(exchange));
    exchange.noContent();
  }

  private void change(Exchange exchange, Change change) {
    exchange.json(200, view(change.make(exchange.caller(), Ids.sandbox(exchange))));
  }

  private SandboxView view(Sandbox sandbox) {
    return SandboxView.of(sandbox, skills.of(sandbox), budgets.find(sandbox), retention.get());
  }

  private static CreateSandbox.Size size(Fields fields) {
    return new CreateSandbox.Size(
        fields.wholeNumber("memory_mb", 1, MOST),
        fields.decimal("cpu_cores"),
        fields.wholeNumber("disk_mb", 1, MOST),
        integer(fields.wholeNumber("pids", 1, MOST)));
  }

  private static CreateSandbox.Storage storage(Fields fields) {
    String snapshot = fields.string("snapshot_id");
    String rootfs = fields.string("rootfs");
    return new CreateSandbox.Storage(
        fields.bool("ephemeral"),
        fields.string("volume"),
        snapshot == null ? null : new SnapshotId(snapshot),
        rootfs == null ? null : Rootfs.parse(rootfs));
  }

  private static CreateSandbox.Expiry expiry(Fields fields) {
    String onIdle = fields.string("on_idle");
    return new CreateSandbox.Expiry(
        fields.wholeNumber("idle_timeout_seconds", 0, MOST),
        onIdle == null ? null : OnIdle.parse(onIdle),
        fields.wholeNumber("max_life_seconds", 0, MOST));
  }

  private static Isolation.@Nullable Strength isolation(Fields fields) {
    String name = fields.string("isolation");
    if (name == null) {
      return null;
    }
    return switch (name) {
      case "none" -> Isolation.Strength.NONE;
      case "namespaces" -> Isolation.Strength.NAMESPACES;
      case "gvisor" -> Isolation.Strength.GVISOR;
      default -> throw fields.wrong("isolation", "must be none, namespaces or gvisor");
    };
  }

  private static boolean descending(String order) {
    return switch (order.toLowerCase(Locale.ROOT)) {
      case "asc" -> false;
      case "desc" -> true;
      default -> throw SandboxException.invalid("sort_order", "must be asc or desc");
    };
  }

  private static @Nullable Integer integer(@Nullable Long value) {
    return value == null ? null : value.intValue();
  }

  private static Map<String, String> orEmpty(@Nullable Map<String, String> map) {
    return map == null ? Map.of() : map;
  }

  /** One of the ways from status to status. */
  private interface Change {
    Sandbox make(Caller caller, SandboxId id);
  }

  record Page(
      List<SandboxView> items, long total, int page, int pageSize, Map<String, Long> statusCounts) {
    static Page of(
        SandboxPage page,
        Map<SandboxId, List<Installed>> skills,
        Budgets budgets,
        Duration retention) {
      var counts = new TreeMap<String, Long>();
      for (SandboxStatus status : SandboxStatus.visible()) {
        counts.put(status.wireName(), page.statusCounts().getOrDefault(status, 0L));
      }
      return new Page(
          page.items().stream()
              .map(
                  sandbox ->
                      SandboxView.of(
                          sandbox,
                          skills.getOrDefault(sandbox.id(), List.of()),
                          budgets.find(sandbox),
                          retention))
              .toList(),
          page.total(),
          page.page(),
          page.pageSize(),
          counts);
    }
  }
}
