package dev.carrel.control.sandbox;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.Query;
import org.jspecify.annotations.Nullable;

/** Rows of sandboxes. Each change of status is a compare-and-set on status and generation. */
final class SandboxStore {
  private static final String LIVE = "('creating', 'running', 'paused')";
  private static final String UNCHANGED = " WHERE id = ? AND status = ? AND generation = ?";
  private static final String MOVE =
      "UPDATE sandbox SET status = ?, generation = ?, isolation = ?, started_at = ?,"
          + " stopped_at = ?, failure_cause = ?, failure_message = ?, failure_hint = ?, "
          + SandboxRow.CHANGES
          + UNCHANGED;
  private static final String CONFIGURE =
      "UPDATE sandbox SET isolation = ?, " + SandboxRow.CHANGES + UNCHANGED;
  private static final String COUNTS =
      "SELECT (SELECT COUNT(*) FROM sandbox WHERE status IN "
          + LIVE
          + "), (SELECT COUNT(*) FROM sandbox WHERE tenant = ? AND status IN "
          + LIVE
          + ")";
  private static final int JOURNAL = 100;

  private final Database database;
  private final SandboxJournal journal;

  SandboxStore(Database database, SandboxJournal journal) {
    this.database = database;
    this.journal = journal;
  }

  /**
   * Makes the row, with its volume, unless a limit forbids it or the session key has a sandbox that
   * lives or can be started again.
   */
  Reservation reserve(Sandbox sandbox, Limit limit) {
    return database.write(
        handle -> {
          if (sandbox.sessionKey() != null) {
            Optional<Sandbox> existing =
                findBySessionKey(handle, sandbox.tenant(), sandbox.sessionKey());
            if (existing.isPresent()) {
              return new Reservation.Existing(existing.get());
            }
          }
          Optional<Reservation.Full> full = full(handle, sandbox.tenant(), limit);
          if (full.isPresent()) {
            return full.get();
          }
          Sandbox made = VolumeStore.claim(handle, sandbox, true, limit.volumeBytes());
          SandboxRow.insert(handle, made);
          journal.moved(handle, made, "created", "asked", Actor.principal(made.tenant()));
          return new Reservation.Made(made);
        });
  }

  /**
   * Whether {@link #reserve} would take a new one with files of its own now. That one decides; this
   * only looks.
   *
   * @param makesRoom whether there is room all the same where a limit is reached
   */
  boolean hasRoom(
      String tenant, DataSize disk, Limit limit, Predicate<Reservation.Full> makesRoom) {
    return database.read(
        handle ->
            VolumeStore.hasRoom(handle, tenant, disk.bytes(), limit.volumeBytes())
                && full(handle, tenant, limit).map(makesRoom::test).orElse(true));
  }

  /** Moves one that ended to creating, unless a limit forbids it. */
  Reservation revive(Sandbox from, Sandbox next, String cause, Limit limit) {
    return database.write(
        handle -> {
          Optional<Reservation.Full> full = full(handle, from.tenant(), limit);
          if (full.isPresent()) {
            return full.get();
          }
          Sandbox made = VolumeStore.claim(handle, next, false, limit.volumeBytes());
          return move(handle, from, made, cause)
              ? new Reservation.Made(made)
              : new Reservation.Moved();
        });
  }

  Optional<Sandbox> findByKey(String tenant, String sessionKey) {
    return database.read(handle -> findBySessionKey(handle, tenant, sessionKey));
  }

  Optional<Sandbox> find(SandboxId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM sandbox WHERE id = :id")
                .bind("id", id.value())
                .map(SandboxRow::read)
                .findOne());
  }

  /** With the counters that are on their way to it. */
  Optional<Sandbox> settled(SandboxId id) {
    database.flush();
    return find(id);
  }

  List<Sandbox> all() {
    return database.read(
        handle -> handle.createQuery("SELECT * FROM sandbox").map(SandboxRow::read).list());
  }

  /**
   * Moves to the status of {@code next}, with all that goes with it, if the row is still as {@code
   * from} says; and notes it in the journal.
   */
  boolean transition(Sandbox from, Sandbox next, String cause) {
    return database.write(handle -> move(handle, from, next, cause));
  }

  private boolean move(Handle handle, Sandbox from, Sandbox next, String cause) {
    if (!Transitions.exists(from.status(), next.status())) {
      throw new IllegalStateException(
          "sandbox %s cannot go from %s to %s".formatted(from.id(), from.status(), next.status()));
    }
    Failure failure = next.failure();
    var values = new ArrayList<@Nullable Object>();
    values.add(next.status().wireName());
    values.add(from.generation() + 1);
    values.add(SandboxRow.isolationText(next.isolation()));
    values.add(SandboxRow.millis(next.startedAt()));
    values.add(SandboxRow.millis(next.stoppedAt()));
    values.add(failure == null ? null : failure.cause());
    values.add(failure == null ? null : failure.message());
    values.add(failure == null ? null : failure.hint());
    SandboxRow.changes(values, next);
    asBefore(values, from);
    boolean moved = Sql.update(handle, MOVE, values.toArray()) == 1;
    if (moved) {
      Sql.update(
          handle,
          "INSERT INTO transition (sandbox_id, generation, from_status, to_status, at, cause)"
              + " VALUES (?, ?, ?, ?, ?, ?)",
          from.id().value(),
          next.generation(),
          from.status().wireName(),
          next.status().wireName(),
          System.currentTimeMillis(),
          cause);
      if (next.generation() > JOURNAL) {
        handle.execute(
            "DELETE FROM transition WHERE sandbox_id = ? AND generation <= ?",
            from.id().value(),
            next.generation() - JOURNAL);
      }
      journal.moved(handle, next, next.status().wireName(), cause, Actor.principal(next.tenant()));
    }
    return moved;
  }

  /** Oldest first, the last {@value #JOURNAL} of them. */
  List<Transition> journal(SandboxId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM transition WHERE sandbox_id = :id ORDER BY generation")
                .bind("id", id.value())
                .map(
                    (row, _) ->
                        new Transition(
                            row.getLong("generation"),
                            SandboxStatus.parse(SandboxRow.text(row, "from_status")),
                            SandboxStatus.parse(SandboxRow.text(row, "to_status")),
                            Instant.ofEpochMilli(row.getLong("at")),
                            SandboxRow.text(row, "cause")))
                .list());
  }

  /** Changes what a PATCH may change; the status must be what the caller looked at. */
  boolean configure(Sandbox from, Sandbox next) {
    return database.write(handle -> configure(handle, from, next));
  }

  private static boolean configure(Handle handle, Sandbox from, Sandbox next) {
    var values = new ArrayList<@Nullable Object>();
    values.add(SandboxRow.isolationText(next.isolation()));
    SandboxRow.changes(values, next);
    asBefore(values, from);
    return Sql.update(handle, CONFIGURE, values.toArray()) == 1;
  }

  /** For {@link #UNCHANGED}. */
  private static void asBefore(List<@Nullable Object> values, Sandbox from) {
    values.add(from.id().value());
    values.add(from.status().wireName());
    values.add(from.generation());
  }

  /**
   * Gives it another volume, and that one the name of the other; the status must not change. Throws
   * when another sandbox uses that name.
   */
  boolean swapVolume(Sandbox from, Sandbox next) {
    return database.write(
        handle -> {
          Sandbox.Volume old = from.volume();
          Sandbox.Volume fresh = next.volume();
          boolean swapped = configure(handle, from, next);
          if (swapped && old != null && fresh != null) {
            VolumeStore.rename(handle, old.id(), fresh.id(), from.id());
          }
          return swapped;
        });
  }

  /**
   * Removes the row for good; only its id is remembered for a while. False: somebody did before.
   *
   * @param volume what it had and is no more, or null
   * @param features whose rows about it go with it
   */
  boolean remove(Sandbox sandbox, @Nullable VolumeId volume, List<SandboxListener> features) {
    return database.write(
        handle -> {
          features.forEach(feature -> feature.erase(handle, sandbox.id()));
          if (volume != null) {
            VolumeStore.remove(handle, volume);
          }
          Sql.update(
              handle,
              "INSERT OR REPLACE INTO deleted_sandbox (id, tenant, deleted_at) VALUES (?, ?, ?)",
              sandbox.id().value(),
              sandbox.tenant(),
              System.currentTimeMillis());
          return Sql.update(handle, "DELETE FROM sandbox WHERE id = ?", sandbox.id().value()) == 1;
        });
  }

  /**
   * Whether it was deleted not long ago.
   *
   * @param tenant null: whosever it was
   */
  boolean deleted(SandboxId id, @Nullable String tenant) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT tenant FROM deleted_sandbox WHERE id = :id")
                .bind("id", id.value())
                .mapTo(String.class)
                .findOne()
                .filter(owner -> tenant == null || tenant.equals(owner))
                .isPresent());
  }

  void forgetDeleted(Instant before) {
    database.later(
        handle ->
            handle.execute(
                "DELETE FROM deleted_sandbox WHERE deleted_at < ?", before.toEpochMilli()));
  }

  /** Writes counters soon. */
  void note(SandboxId id, Instant lastActivity, Sandbox.Counters counters) {
    database.later(
        handle ->
            Sql.update(
                handle,
                "UPDATE sandbox SET last_activity_at = ?, exec_count = ?, exec_total_ms = ?,"
                    + " bytes_uploaded = ?, bytes_downloaded = ? WHERE id = ?",
                lastActivity.toEpochMilli(),
                counters.execCount(),
                counters.execTotalMillis(),
                counters.bytesUploaded(),
                counters.bytesDownloaded(),
                id.value()));
  }

  /** Those that have ended, whose {@link Sandbox#removalAt} counts from before {@code end}. */
  List<Sandbox> endedBefore(Instant end) {
    return ended(Instant.EPOCH, end, 100);
  }

  /** As {@link #endedBefore}, and not before {@code begin}. */
  List<Sandbox> endedBetween(Instant begin, Instant end) {
    return ended(begin, end, Integer.MAX_VALUE);
  }

  private List<Sandbox> ended(Instant begin, Instant end, int limit) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT * FROM sandbox WHERE (status = 'failed' OR (status = 'stopped'"
                        + " AND (at_end = 'stop' OR volume_id IS NULL)))"
                        + " AND MAX(COALESCE(stopped_at, created_at), last_activity_at) >= :begin"
                        + " AND MAX(COALESCE(stopped_at, created_at), last_activity_at) < :end"
                        + " LIMIT :limit")
                .bind("begin", begin.toEpochMilli())
                .bind("end", end.toEpochMilli())
                .bind("limit", limit)
                .map(SandboxRow::read)
                .list());
  }

  /** Those whose removal was begun and not finished. */
  List<Sandbox> destroyed() {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM sandbox WHERE status = 'destroyed' LIMIT 100")
                .map(SandboxRow::read)
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
    if (query.namespace() != null) {
      where.add("namespace = :namespace");
    }
    if (query.search() != null) {
      where.add(
          "(id LIKE :search ESCAPE '!' OR session_key LIKE :search ESCAPE '!'"
              + " OR image LIKE :search ESCAPE '!' OR metadata LIKE :search ESCAPE '!')");
    }
    if (query.further().excluded() != null) {
      where.add("status <> :excluded");
    }
    if (query.further().tenant() != null) {
      where.add("tenant = :owner");
    }
    if (query.further().imagePart() != null) {
      where.add("image LIKE :part ESCAPE '!'");
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
                  .map(SandboxRow::read)
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
                      Map.entry(
                          SandboxStatus.parse(SandboxRow.text(rows, "status")), rows.getLong("n")))
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
    if (sql.contains(":namespace")) {
      bound.bind("namespace", query.namespace());
    }
    if (sql.contains(":search")) {
      bound.bind("search", "%" + likeText(String.valueOf(query.search())) + "%");
    }
    SandboxQuery.Further further = query.further();
    if (sql.contains(":excluded") && further.excluded() != null) {
      bound.bind("excluded", further.excluded().wireName());
    }
    if (sql.contains(":owner")) {
      bound.bind("owner", further.tenant());
    }
    if (sql.contains(":part")) {
      bound.bind("part", "%" + likeText(String.valueOf(further.imagePart())) + "%");
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
            "SELECT * FROM sandbox WHERE tenant = :tenant AND session_key = :key AND (status IN "
                + LIVE
                + " OR (status IN ('stopped', 'failed') AND volume_id IS NOT NULL))")
        .bind("tenant", tenant)
        .bind("key", key)
        .map(SandboxRow::read)
        .findOne();
  }

  private static Optional<Reservation.Full> full(Handle handle, String tenant, Limit limit) {
    return Sql.one(handle, COUNTS, row -> full(row.getLong(1), row.getLong(2), limit), tenant);
  }

  private static Optional<Reservation.Full> full(long total, long own, Limit limit) {
    return total >= limit.total()
        ? Optional.of(new Reservation.Full(false))
        : own >= limit.perTenant() ? Optional.of(new Reservation.Full(true)) : Optional.empty();
  }

  /** How many live sandboxes there may be, and how large a tenant's volumes together. */
  record Limit(int perTenant, int total, long volumeBytes) {}

  /** What came of asking for a row, or for a place for one that ended. */
  sealed interface Reservation {
    /** The row is there, in status creating. */
    record Made(Sandbox sandbox) implements Reservation {}

    /** The session key has a sandbox. */
    record Existing(Sandbox sandbox) implements Reservation {}

    /** A limit is reached: the tenant's, or else the server's. */
    record Full(boolean tenant) implements Reservation {}

    /** Somebody else changed it meanwhile. */
    record Moved() implements Reservation {}
  }
}
