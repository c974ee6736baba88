package dev.carrel.control.sandbox;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of volumes. A row is there before its volume is made and until it is removed. */
final class VolumeStore {
  private static final int MAX_LISTED = 1000;
  private static final String TAKEN =
      """
      SELECT (SELECT COALESCE(SUM(size_bytes), 0) FROM volume WHERE tenant = ?)
        + (SELECT COALESCE(SUM(COALESCE(used_bytes, size_bytes)), 0) FROM snapshot
          WHERE tenant = ?)\
      """;

  private final Database database;

  VolumeStore(Database database) {
    this.database = database;
  }

  /**
   * Gives a sandbox its volume, in the transaction that makes it live: its own, or the one with its
   * name unless another sandbox uses that. Returns the sandbox as it is with it.
   *
   * @param fresh whether the sandbox was not there before
   */
  static Sandbox claim(Handle handle, Sandbox sandbox, boolean fresh, long maxBytes) {
    Sandbox.Volume volume = sandbox.volume();
    if (volume == null) {
      return sandbox;
    }
    Optional<NamedVolume> named =
        volume.name() == null ? Optional.empty() : find(handle, sandbox.tenant(), volume.name());
    if (named.isPresent()) {
      return claim(handle, sandbox, named.get());
    }
    if (fresh || !exists(handle, volume.id())) {
      requireRoom(handle, sandbox.tenant(), sandbox.limits().disk().bytes(), maxBytes);
      insert(
          handle,
          volume.id(),
          sandbox.tenant(),
          sandbox.engine(),
          volume.name(),
          sandbox.id(),
          sandbox.limits().disk());
    }
    return sandbox;
  }

  /** Makes a volume with a name; false when the tenant has one. */
  boolean create(NamedVolume volume, long maxBytes) {
    return database.write(
        handle -> {
          if (find(handle, volume.tenant(), volume.name()).isPresent()) {
            return false;
          }
          requireRoom(handle, volume.tenant(), volume.size().bytes(), maxBytes);
          insert(
              handle,
              volume.id(),
              volume.tenant(),
              volume.engine(),
              volume.name(),
              null,
              volume.size());
          return true;
        });
  }

  /** The row of a volume that is to replace a sandbox's. */
  void createSpare(VolumeId id, Sandbox sandbox, DataSize size, long maxBytes) {
    database.write(
        handle -> {
          requireRoom(handle, sandbox.tenant(), size.bytes(), maxBytes);
          insert(handle, id, sandbox.tenant(), sandbox.engine(), null, sandbox.id(), size);
          return id;
        });
  }

  /** Refuses when another sandbox uses the volume. */
  void requireUnused(VolumeId id, SandboxId sandbox) {
    database
        .read(handle -> findNamed(handle, id))
        .ifPresent(volume -> requireUnused(volume, sandbox));
  }

  /**
   * Gives a name to another volume, in the transaction that gives it to the sandbox: with it goes
   * the sandbox's use, and every other sandbox that has the name. Refuses when one of them uses it.
   */
  static void rename(Handle handle, VolumeId from, VolumeId to, SandboxId sandbox) {
    NamedVolume volume = findNamed(handle, from).orElse(null);
    if (volume == null) {
      return;
    }
    requireUnused(volume, sandbox);
    handle.execute("UPDATE volume SET name = NULL WHERE id = ?", from.value());
    handle.execute(
        "UPDATE volume SET name = ?, sandbox_id = ? WHERE id = ?",
        volume.name(),
        volume.sandbox() == null ? null : sandbox.value(),
        to.value());
    handle.execute(
        "UPDATE sandbox SET volume_id = ?, disk_bytes = (SELECT size_bytes FROM volume WHERE id = ?)"
            + " WHERE volume_id = ?",
        to.value(),
        to.value(),
        from.value());
  }

  Optional<NamedVolume> find(String tenant, String name) {
    return database.read(handle -> find(handle, tenant, name));
  }

  /**
   * By name.
   *
   * @param tenant null: of all
   */
  List<NamedVolume> list(@Nullable String tenant) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT * FROM volume WHERE name IS NOT NULL"
                        + (tenant == null ? "" : " AND tenant = :tenant")
                        + " ORDER BY tenant, name LIMIT "
                        + MAX_LISTED)
                .bindMap(tenant == null ? Map.of() : Map.of("tenant", tenant))
                .map(VolumeStore::read)
                .list());
  }

  /** Takes the name away unless a sandbox has it; then it belongs to nobody. Returns that one. */
  Optional<SandboxId> disown(NamedVolume volume) {
    return database.write(
        handle -> {
          Optional<SandboxId> user =
              handle
                  .createQuery(
                      "SELECT id FROM sandbox WHERE volume_id = :id AND status <> 'destroyed'")
                  .bind("id", volume.id().value())
                  .mapTo(String.class)
                  .findFirst()
                  .map(SandboxId::new);
          if (user.isEmpty()) {
            handle.execute(
                "UPDATE volume SET name = NULL, sandbox_id = NULL WHERE id = ?",
                volume.id().value());
          }
          return user;
        });
  }

  /** The machine that used it is gone. Does nothing to a sandbox's own. */
  void release(VolumeId id, SandboxId sandbox) {
    database.write(
        handle ->
            handle.execute(
                "UPDATE volume SET sandbox_id = NULL"
                    + " WHERE id = ? AND sandbox_id = ? AND name IS NOT NULL",
                id.value(),
                sandbox.value()));
  }

  /** After a start: those whose user has no machine are free. */
  void releaseAll() {
    database.write(
        handle ->
            handle.execute(
                """
                UPDATE volume SET sandbox_id = NULL WHERE name IS NOT NULL AND NOT EXISTS
                  (SELECT 1 FROM sandbox s WHERE s.id = volume.sandbox_id
                    AND s.status IN ('creating', 'running', 'paused'))\
                """));
  }

  /** What must not leave with the files of one must not leave with their copy. */
  void copyTraces(VolumeId from, VolumeId to) {
    database.write(
        handle ->
            handle.execute(
                "INSERT INTO secret_trace (holder, secret_id, tenant, namespace, name, version,"
                    + " canary, sealed, created_at) SELECT ?, secret_id, tenant, namespace, name,"
                    + " version, canary, sealed, created_at FROM secret_trace WHERE holder = ?"
                    + " ON CONFLICT DO NOTHING",
                to.value(),
                from.value()));
  }

  /** After the volume itself is gone. */
  void remove(VolumeId id) {
    database.write(handle -> remove(handle, id));
  }

  static int remove(Handle handle, VolumeId id) {
    Sql.update(handle, "DELETE FROM secret_trace WHERE holder = ?", id.value());
    return Sql.update(handle, "DELETE FROM volume WHERE id = ?", id.value());
  }

  /** Those without a name that no sandbox has. */
  List<Unowned> unowned() {
    return database.read(
        handle ->
            handle
                .createQuery(
                    """
                    SELECT id, engine, sandbox_id FROM volume v WHERE name IS NULL AND NOT EXISTS
                      (SELECT 1 FROM sandbox WHERE volume_id = v.id)\
                    """)
                .map(
                    (row, _) ->
                        new Unowned(
                            new VolumeId(SandboxRow.text(row, "id")),
                            SandboxRow.text(row, "engine"),
                            sandbox(row)))
                .list());
  }

  /** Every volume that has an owner, or had one. */
  Set<VolumeId> known() {
    return database.read(
        handle -> {
          var ids = new HashSet<VolumeId>();
          handle
              .createQuery("SELECT id FROM volume UNION SELECT volume_id FROM snapshot")
              .mapTo(String.class)
              .forEach(id -> ids.add(new VolumeId(id)));
          return ids;
        });
  }

  static void requireRoom(Handle handle, String tenant, long more, long max) {
    long taken = taken(handle, tenant);
    if (taken + more > max) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "this tenant's volumes and snapshots have %d MB together, and %d more would be over"
                      .formatted(taken >> 20, more >> 20)
                  + " the %d MB allowed".formatted(max >> 20))
          .withHint(
              "delete stopped sandboxes, snapshots or volumes, ask for less disk_mb, or raise"
                  + " volume.max-mb-per-tenant");
    }
  }

  static boolean hasRoom(Handle handle, String tenant, long more, long max) {
    return taken(handle, tenant) + more <= max;
  }

  private static long taken(Handle handle, String tenant) {
    return Sql.one(handle, TAKEN, row -> row.getLong(1), tenant, tenant);
  }

  static void insert(
      Handle handle,
      VolumeId id,
      String tenant,
      String engine,
      @Nullable String name,
      @Nullable SandboxId sandbox,
      DataSize size) {
    long now = System.currentTimeMillis();
    Sql.update(
        handle,
        "INSERT INTO volume (id, tenant, engine, name, sandbox_id, size_bytes, created_at, used_at)"
            + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        id.value(),
        tenant,
        engine,
        name,
        sandbox == null ? null : sandbox.value(),
        size.bytes(),
        now,
        now);
  }

  private static Sandbox claim(Handle handle, Sandbox sandbox, NamedVolume volume) {
    requireUnused(volume, sandbox.id());
    if (!volume.engine().equals(sandbox.engine())) {
      throw SandboxException.invalid(
          "volume",
          "'%s' is of engine %s, the sandbox of %s"
              .formatted(volume.name(), volume.engine(), sandbox.engine()));
    }
    handle.execute(
        "UPDATE volume SET sandbox_id = ?, used_at = ? WHERE id = ?",
        sandbox.id().value(),
        System.currentTimeMillis(),
        volume.id().value());
    Limits limits = sandbox.limits();
    return sandbox
        .edit()
        .volume(new Sandbox.Volume(volume.id(), volume.name()))
        .limits(
            new Limits(
                limits.memory(), limits.cpus(), limits.pids(), volume.size(), limits.openFiles()))
        .build();
  }

  private static void requireUnused(NamedVolume volume, SandboxId sandbox) {
    SandboxId user = volume.sandbox();
    if (user != null && !user.equals(sandbox)) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "volume: '%s' is in use by sandbox %s".formatted(volume.name(), user))
          .withHint("stop or delete that one, or use another volume");
    }
  }

  /** Empty for a sandbox's own. */
  private static Optional<NamedVolume> findNamed(Handle handle, VolumeId id) {
    return handle
        .createQuery("SELECT * FROM volume WHERE id = :id AND name IS NOT NULL")
        .bind("id", id.value())
        .map(VolumeStore::read)
        .findOne();
  }

  private static Optional<NamedVolume> find(Handle handle, String tenant, String name) {
    return handle
        .createQuery("SELECT * FROM volume WHERE tenant = :tenant AND name = :name")
        .bind("tenant", tenant)
        .bind("name", name)
        .map(VolumeStore::read)
        .findOne();
  }

  private static boolean exists(Handle handle, VolumeId id) {
    return handle
        .createQuery("SELECT 1 FROM volume WHERE id = :id")
        .bind("id", id.value())
        .mapTo(Integer.class)
        .findOne()
        .isPresent();
  }

  private static NamedVolume read(ResultSet row, StatementContext context) throws SQLException {
    return new NamedVolume(
        new VolumeId(SandboxRow.text(row, "id")),
        SandboxRow.text(row, "tenant"),
        SandboxRow.text(row, "engine"),
        SandboxRow.text(row, "name"),
        sandbox(row),
        new DataSize(row.getLong("size_bytes")),
        0,
        Instant.ofEpochMilli(row.getLong("created_at")),
        Instant.ofEpochMilli(row.getLong("used_at")));
  }

  private static @Nullable SandboxId sandbox(ResultSet row) throws SQLException {
    String id = row.getString("sandbox_id");
    return id == null ? null : new SandboxId(id);
  }

  /**
   * A volume that nobody has.
   *
   * @param sandbox who had it or is about to; null: nobody
   */
  record Unowned(VolumeId id, String engine, @Nullable SandboxId sandbox) {}
}
