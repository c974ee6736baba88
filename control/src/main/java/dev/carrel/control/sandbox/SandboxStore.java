package dev.carrel.control.sandbox;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Lines;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.Query;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of sandboxes. Each change of status is a compare-and-set on status and generation. */
final class SandboxStore {
  private static final String LIVE = "('creating', 'running')";

  private final Database database;

  SandboxStore(Database database) {
    this.database = database;
  }

  /** Makes the row unless a limit forbids it or the session key has a live sandbox already. */
  Reservation reserve(Sandbox sandbox, int maxPerTenant, int maxTotal) {
    return database.write(
        handle -> {
          if (sandbox.sessionKey() != null) {
            Optional<Sandbox> existing =
                findBySessionKey(handle, sandbox.tenant(), sandbox.sessionKey());
            if (existing.isPresent()) {
              return new Reservation.Existing(existing.get());
            }
          }
          if (countLive(handle, "") >= maxTotal) {
            return new Reservation.Full(false);
          }
          if (countLive(handle, sandbox.tenant()) >= maxPerTenant) {
            return new Reservation.Full(true);
          }
          insert(handle, sandbox);
          return new Reservation.Made();
        });
  }

  Optional<Sandbox> find(SandboxId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM sandbox WHERE id = :id")
                .bind("id", id.value())
                .map(SandboxStore::row)
                .findOne());
  }

  List<Sandbox> all() {
    return database.read(
        handle -> handle.createQuery("SELECT * FROM sandbox").map(SandboxStore::row).list());
  }

  /**
   * Moves to the status, isolation, limits, times and failure of {@code next} if the row is still
   * as {@code from} says.
   */
  boolean transition(Sandbox from, Sandbox next) {
    return database.write(
        handle ->
            handle
                    .createUpdate(
                        """
                        UPDATE sandbox SET status = :status, generation = generation + 1,
                          isolation = :isolation, memory_bytes = :memory, cpus = :cpus,
                          pids = :pids, disk_bytes = :disk, open_files = :files,
                          stopped_at = :stopped, failure_cause = :cause,
                          failure_message = :message, failure_hint = :hint
                        WHERE id = :id AND status = :from AND generation = :generation""")
                    .bind("status", next.status().wireName())
                    .bind("isolation", isolationText(next.isolation()))
                    .bind("memory", next.limits().memory().bytes())
                    .bind("cpus", next.limits().cpus())
                    .bind("pids", next.limits().pids())
                    .bind("disk", next.limits().disk().bytes())
                    .bind("files", next.limits().openFiles())
                    .bind("stopped", millis(next.stoppedAt()))
                    .bind("cause", next.failure() == null ? null : next.failure().cause())
                    .bind("message", next.failure() == null ? null : next.failure().message())
                    .bind("hint", next.failure() == null ? null : next.failure().hint())
                    .bind("id", from.id().value())
                    .bind("from", from.status().wireName())
                    .bind("generation", from.generation())
                    .execute()
                == 1);
  }

  /** Changes what a PATCH may change; the status must be what the caller looked at. */
  boolean configure(Sandbox from, Sandbox next) {
    return database.write(
        handle ->
            handle
                    .createUpdate(
                        """
                        UPDATE sandbox SET memory_bytes = :memory, cpus = :cpus, pids = :pids,
                          idle_timeout_ms = :idle, env_vars = :env, metadata = :metadata
                        WHERE id = :id AND status = :from AND generation = :generation""")
                    .bind("memory", next.limits().memory().bytes())
                    .bind("cpus", next.limits().cpus())
                    .bind("pids", next.limits().pids())
                    .bind("idle", next.idleTimeout().toMillis())
                    .bind("env", Lines.ofMap(next.envVars()))
                    .bind("metadata", Lines.ofMap(next.metadata()))
                    .bind("id", from.id().value())
                    .bind("from", from.status().wireName())
                    .bind("generation", from.generation())
                    .execute()
                == 1);
  }

  void remove(SandboxId id) {
    database.write(handle -> handle.execute("DELETE FROM sandbox WHERE id = ?", id.value()));
  }

  /** Writes counters soon. */
  void note(SandboxId id, Instant lastActivity, Sandbox.Counters counters) {
    database.later(
        handle ->
            handle.execute(
                "UPDATE sandbox SET last_activity_at = ?, exec_count = ?, exec_total_ms = ?,"
                    + " bytes_uploaded = ?, bytes_downloaded = ? WHERE id = ?",
                lastActivity.toEpochMilli(),
                counters.execCount(),
                counters.execTotalMillis(),
                counters.bytesUploaded(),
                counters.bytesDownloaded(),
                id.value()));
  }

  /** Stopped and failed ones that ended before {@code end}. */
  List<Sandbox> endedBefore(Instant end) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT * FROM sandbox WHERE status IN ('stopped', 'failed')"
                        + " AND COALESCE(stopped_at, created_at) < :end LIMIT 100")
                .bind("end", end.toEpochMilli())
                .map(SandboxStore::row)
                .list());
  }

  /** Those whose removal was begun and not finished. */
  List<Sandbox> destroyed() {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM sandbox WHERE status = 'destroyed' LIMIT 100")
                .map(SandboxStore::row)
                .list());
  }

  /**
   * One page.
   *
   * @param tenant null: of every tenant
   */
  SandboxPage page(@Nullable String tenant, SandboxQuery query) {
    var where = new ArrayList<String>(List.of("status <> 'destroyed'"));
    if (tenant != null) {
      where.add("tenant = :tenant");
    }
    String owned = String.join(" AND ", where);
    if (query.status() != null) {
      where.add("status = :status");
    }
    if (query.image() != null) {
      where.add("image = :image");
    }
    if (query.search() != null) {
      where.add(
          "(id LIKE :search ESCAPE '!' OR session_key LIKE :search ESCAPE '!'"
              + " OR image LIKE :search ESCAPE '!' OR metadata LIKE :search ESCAPE '!')");
    }
    String matching = String.join(" AND ", where);
    String order =
        column(query.sortBy()) + (query.descending() ? " DESC" : " ASC") + ", created_at DESC, id";
    return database.read(
        handle -> {
          long total =
              bind(handle, "SELECT COUNT(*) FROM sandbox WHERE " + matching, tenant, query)
                  .mapTo(Long.class)
                  .one();
          List<Sandbox> items =
              bind(
                      handle,
                      "SELECT * FROM sandbox WHERE %s ORDER BY %s LIMIT %d OFFSET %d"
                          .formatted(
                              matching,
                              order,
                              query.pageSize(),
                              (query.page() - 1L) * query.pageSize()),
                      tenant,
                      query)
                  .map(SandboxStore::row)
                  .list();
          var counts = new EnumMap<SandboxStatus, Long>(SandboxStatus.class);
          SandboxStatus.visible().forEach(status -> counts.put(status, 0L));
          bind(
                  handle,
                  "SELECT status, COUNT(*) AS n FROM sandbox WHERE " + owned + " GROUP BY status",
                  tenant,
                  query)
              .map(
                  (rows, _) ->
                      Map.entry(SandboxStatus.parse(text(rows, "status")), rows.getLong("n")))
              .forEach(entry -> counts.put(entry.getKey(), entry.getValue()));
          return new SandboxPage(items, total, query.page(), query.pageSize(), counts);
        });
  }

  private static Query bind(
      Handle handle, String sql, @Nullable String tenant, SandboxQuery query) {
    Query bound = handle.createQuery(sql);
    if (sql.contains(":tenant")) {
      bound.bind("tenant", tenant);
    }
    if (sql.contains(":status")) {
      bound.bind("status", query.status() == null ? null : query.status().wireName());
    }
    if (sql.contains(":image")) {
      bound.bind("image", query.image());
    }
    if (sql.contains(":search")) {
      bound.bind("search", "%" + likeText(String.valueOf(query.search())) + "%");
    }
    return bound;
  }

  private static String column(SandboxQuery.SortBy key) {
    return switch (key) {
      case CREATED_AT -> "created_at";
      case LAST_ACTIVITY_AT -> "last_activity_at";
      case STATUS -> "status";
      case IMAGE -> "image";
      case MEMORY_MB -> "memory_bytes";
      case EXEC_COUNT -> "exec_count";
    };
  }

  private static String likeText(String text) {
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_");
  }

  private static Optional<Sandbox> findBySessionKey(Handle handle, String tenant, String key) {
    return handle
        .createQuery(
            "SELECT * FROM sandbox WHERE tenant = :tenant AND session_key = :key AND status IN "
                + LIVE)
        .bind("tenant", tenant)
        .bind("key", key)
        .map(SandboxStore::row)
        .findOne();
  }

  private static long countLive(Handle handle, String tenant) {
    return handle
        .createQuery(
            "SELECT COUNT(*) FROM sandbox WHERE status IN "
                + LIVE
                + (tenant.isEmpty() ? "" : " AND tenant = :tenant"))
        .bindMap(tenant.isEmpty() ? Map.of() : Map.of("tenant", tenant))
        .mapTo(Long.class)
        .one();
  }

  private static void insert(Handle handle, Sandbox s) {
    handle
        .createUpdate(
            """
            INSERT INTO sandbox (id, tenant, owner, status, generation, image, engine, runtime,
              isolation, memory_bytes, cpus, pids, disk_bytes, open_files, idle_timeout_ms,
              network_enabled, env_vars, metadata, session_key, created_at, last_activity_at)
            VALUES (:id, :tenant, :owner, :status, :generation, :image, :engine, :runtime,
              NULL, :memory, :cpus, :pids, :disk, :files, :idle,
              :network, :env, :metadata, :key, :created, :created)""")
        .bind("id", s.id().value())
        .bind("tenant", s.tenant())
        .bind("owner", s.owner())
        .bind("status", s.status().wireName())
        .bind("generation", s.generation())
        .bind("image", s.image())
        .bind("engine", s.engine())
        .bind("runtime", s.runtime())
        .bind("memory", s.limits().memory().bytes())
        .bind("cpus", s.limits().cpus())
        .bind("pids", s.limits().pids())
        .bind("disk", s.limits().disk().bytes())
        .bind("files", s.limits().openFiles())
        .bind("idle", s.idleTimeout().toMillis())
        .bind("network", s.networkEnabled())
        .bind("env", Lines.ofMap(s.envVars()))
        .bind("metadata", Lines.ofMap(s.metadata()))
        .bind("key", s.sessionKey())
        .bind("created", s.createdAt().toEpochMilli())
        .execute();
  }

  private static Sandbox row(ResultSet row, StatementContext context) throws SQLException {
    String cause = row.getString("failure_cause");
    return new Sandbox(
        new SandboxId(text(row, "id")),
        text(row, "tenant"),
        text(row, "owner"),
        SandboxStatus.parse(text(row, "status")),
        row.getLong("generation"),
        text(row, "image"),
        text(row, "engine"),
        text(row, "runtime"),
        isolation(row.getString("isolation")),
        new Limits(
            new DataSize(row.getLong("memory_bytes")),
            row.getDouble("cpus"),
            row.getInt("pids"),
            new DataSize(row.getLong("disk_bytes")),
            row.getInt("open_files")),
        Duration.ofMillis(row.getLong("idle_timeout_ms")),
        row.getBoolean("network_enabled"),
        Lines.toMap(text(row, "env_vars")),
        Lines.toMap(text(row, "metadata")),
        row.getString("session_key"),
        Instant.ofEpochMilli(row.getLong("created_at")),
        Instant.ofEpochMilli(row.getLong("last_activity_at")),
        instant(row, "stopped_at"),
        new Sandbox.Counters(
            row.getLong("exec_count"),
            row.getLong("exec_total_ms"),
            row.getLong("bytes_uploaded"),
            row.getLong("bytes_downloaded")),
        cause == null
            ? null
            : new Failure(cause, text(row, "failure_message"), text(row, "failure_hint")));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }

  private static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
    long millis = row.getLong(column);
    return row.wasNull() ? null : Instant.ofEpochMilli(millis);
  }

  private static @Nullable Long millis(@Nullable Instant instant) {
    return instant == null ? null : instant.toEpochMilli();
  }

  private static @Nullable String isolationText(@Nullable Isolation isolation) {
    if (isolation == null) {
      return null;
    }
    var items = new ArrayList<String>();
    items.add(isolation.strength().name().toLowerCase(Locale.ROOT));
    for (Isolation.Measure measure : isolation.measures()) {
      items.add(measure.name());
      items.add(String.valueOf(measure.applied()));
      items.add(measure.detail());
    }
    return Lines.ofList(items);
  }

  private static @Nullable Isolation isolation(@Nullable String text) {
    if (text == null) {
      return null;
    }
    List<String> items = Lines.toList(text);
    var measures = new ArrayList<Isolation.Measure>();
    for (int i = 1; i + 2 < items.size(); i += 3) {
      measures.add(
          new Isolation.Measure(
              items.get(i), Boolean.parseBoolean(items.get(i + 1)), items.get(i + 2)));
    }
    return new Isolation(
        Isolation.Strength.valueOf(items.getFirst().toUpperCase(Locale.ROOT)), measures);
  }

  /** What came of asking for a row. */
  sealed interface Reservation {
    /** The row is there, in status creating. */
    record Made() implements Reservation {}

    /** The session key has a live sandbox. */
    record Existing(Sandbox sandbox) implements Reservation {}

    /** A limit is reached: the tenant's, or else the server's. */
    record Full(boolean tenant) implements Reservation {}
  }
}
