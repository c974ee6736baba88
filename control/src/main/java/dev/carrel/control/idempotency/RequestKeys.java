package dev.carrel.control.idempotency;

import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.HandleConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What each key stands for. A key belongs to one tenant and one sandbox, or to the creates of a
 * tenant. One request at a time may look at a key; the others with the same one wait for it, so
 * that of many equal requests exactly one does the work. Safe for many threads.
 */
public final class RequestKeys {
  private static final String WHERE =
      "tenant = :tenant AND COALESCE(sandbox_id, '') = :sandbox AND name = :name";

  // What a key stands for is as old as its end: to forget it before would start it again.
  private static final String IN_USE =
      "(target IN (SELECT id FROM exec WHERE sandbox_id = :sandbox"
          + " AND (ended_at IS NULL OR ended_at > :oldest))"
          + " OR target IN (SELECT value FROM json_each(:cells)))";

  private final Database database;
  private final KeySettings settings;
  private final Map<Place, CountDownLatch> claimed = new ConcurrentHashMap<>();
  private volatile BiFunction<String, Instant, Set<String>> since = (_, _) -> Set.of();

  public RequestKeys(Database database, KeySettings settings) {
    this.database = database;
    this.settings = settings;
  }

  /**
   * Keys of what still runs stay, also of what no table tells of.
   *
   * @param targets those of a sandbox, by its id, that run or ended after a time
   */
  public void keepWhile(BiFunction<String, Instant, Set<String>> targets) {
    since = targets;
  }

  /** What can be asked for with a key. */
  public enum Kind {
    CREATE,
    EXEC,
    CODE;

    String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * Looks at a key, alone until the claim is closed.
   *
   * @param sandbox null for creates
   * @throws SandboxException {@code KEY_REUSED} when the key stands for something else
   */
  public Claim claim(String tenant, @Nullable SandboxId sandbox, Kind kind, RequestKey key)
      throws InterruptedException {
    var place = new Place(tenant, sandbox == null ? "" : sandbox.value(), key.name());
    var mine = new CountDownLatch(1);
    for (CountDownLatch other; (other = claimed.putIfAbsent(place, mine)) != null; ) {
      other.await();
    }
    boolean found = false;
    try {
      String target = find(place, kind, key).orElse(null);
      found = true;
      return new Claim(place, kind, key, mine, target);
    } finally {
      if (!found) {
        release(place, mine);
      }
    }
  }

  /** From now on the key is free, for what it stood for came to nothing. */
  public void forget(String tenant, SandboxId sandbox, RequestKey key) {
    forget(new Place(tenant, sandbox.value(), key.name()), _ -> {});
  }

  private void forget(Place place, HandleConsumer<RuntimeException> also) {
    database.write(
        handle -> {
          also.useHandle(handle);
          return handle
              .createUpdate("DELETE FROM request_key WHERE " + WHERE)
              .bindMap(place.columns())
              .execute();
        });
  }

  private Optional<String> find(Place place, Kind kind, RequestKey key) {
    Instant oldest = oldest();
    Optional<Row> row =
        database.read(
            handle ->
                handle
                    .createQuery(
                        "SELECT kind, digest, target FROM request_key WHERE "
                            + WHERE
                            + " AND (created_at > :oldest OR "
                            + IN_USE
                            + ")")
                    .bindMap(place.columns())
                    .bind("oldest", oldest.toEpochMilli())
                    .bind("cells", cells(place, oldest))
                    .map(
                        (rows, _) ->
                            new Row(
                                Objects.requireNonNull(rows.getString("kind")),
                                Objects.requireNonNull(rows.getString("digest")),
                                Objects.requireNonNull(rows.getString("target"))))
                    .findOne());
    row.ifPresent(
        known -> {
          if (!known.kind.equals(kind.wireName()) || !known.digest.equals(key.digest())) {
            throw new SandboxException(
                    ErrorCode.KEY_REUSED,
                    "%s: '%s' came with another request before"
                        .formatted(RequestKey.FIELD, key.name()))
                .withHint("use a new key for a new request; repeat one with the same body");
          }
        });
    return row.map(Row::target);
  }

  // The sandbox may be gone by now: then its keys are too.
  private void insert(Handle handle, Claim claim, String target) {
    handle
        .createUpdate(
            """
            INSERT OR REPLACE INTO request_key
              (tenant, sandbox_id, name, kind, digest, target, created_at)
            SELECT :tenant, NULLIF(:sandbox, ''), :name, :kind, :digest, :target, :now
            WHERE :sandbox = '' OR EXISTS (SELECT 1 FROM sandbox WHERE id = :sandbox)""")
        .bindMap(claim.place.columns())
        .bind("kind", claim.kind.wireName())
        .bind("digest", claim.key.digest())
        .bind("target", target)
        .bind("now", Instant.now().toEpochMilli())
        .execute();
    prune(handle, claim.place);
  }

  // A key whose command or code still runs stays, however many there are.
  private void prune(Handle handle, Place place) {
    Instant oldest = oldest();
    handle
        .createUpdate(
            """
            DELETE FROM request_key
            WHERE tenant = :tenant AND COALESCE(sandbox_id, '') = :sandbox
              AND (created_at <= :oldest AND NOT %s OR name IN (
                SELECT name FROM request_key
                WHERE tenant = :tenant AND COALESCE(sandbox_id, '') = :sandbox
                ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET :keep))
              AND target NOT IN (
                SELECT id FROM exec WHERE sandbox_id = :sandbox AND ended_at IS NULL)
              AND target NOT IN (SELECT value FROM json_each(:running))"""
                .formatted(IN_USE))
        .bindMap(place.columns())
        .bind("oldest", oldest.toEpochMilli())
        .bind("keep", settings.maxKeys())
        .bind("cells", cells(place, oldest))
        .bind("running", cells(place, Instant.MAX))
        .execute();
  }

  /** Those that run or ended after that, as JSON: however many there are, the statement is one. */
  private String cells(Place place, Instant oldest) {
    return since.apply(place.sandbox, oldest).stream()
        .collect(Collectors.joining("\",\"", "[\"", "\"]"));
  }

  private Instant oldest() {
    return Instant.now().minus(settings.maxAge());
  }

  private void release(Place place, CountDownLatch latch) {
    claimed.remove(place, latch);
    latch.countDown();
  }

  /** A look at a key that nobody else may take meanwhile. */
  public final class Claim implements AutoCloseable {
    private final Place place;
    private final Kind kind;
    private final RequestKey key;
    private final CountDownLatch latch;
    private final @Nullable String target;

    private Claim(
        Place place, Kind kind, RequestKey key, CountDownLatch latch, @Nullable String target) {
      this.place = place;
      this.kind = kind;
      this.key = key;
      this.latch = latch;
      this.target = target;
    }

    /** What the key stands for; empty for the first request that has it. */
    public Optional<String> target() {
      return Optional.ofNullable(target);
    }

    /**
     * From now on the key stands for this, also for the next process after a crash. To be called
     * before the work begins: better one that is thought to have run than one that runs twice.
     *
     * @param also written together with it
     */
    public void keep(String newTarget, HandleConsumer<RuntimeException> also) {
      database.write(
          handle -> {
            also.useHandle(handle);
            insert(handle, this, newTarget);
            return newTarget;
          });
    }

    /**
     * The work did not begin: the next request with this key is the first one again.
     *
     * @param also done together with it
     */
    public void forget(HandleConsumer<RuntimeException> also) {
      RequestKeys.this.forget(place, also);
    }

    @Override
    public void close() {
      release(place, latch);
    }
  }

  private record Place(String tenant, String sandbox, String name) {
    Map<String, String> columns() {
      return Map.of("tenant", tenant, "sandbox", sandbox, "name", name);
    }
  }

  private record Row(String kind, String digest, String target) {}
}
