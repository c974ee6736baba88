package dev.carrel.control.sandbox;

import dev.carrel.control.store.Database;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import dev.carrel.spi.VolumeId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of snapshots. One that is being made is seen by nobody. */
final class SnapshotStore {
  private static final int MAX_LISTED = 1000;

  private final Database database;

  SnapshotStore(Database database) {
    this.database = database;
  }

  /** Notes one that is about to be made; until it is, it counts with its whole size. */
  void begin(Snapshot snapshot, long maxBytes) {
    database.write(
        handle -> {
          VolumeStore.requireRoom(handle, snapshot.tenant(), snapshot.size().bytes(), maxBytes);
          return handle.execute(
              "INSERT INTO snapshot (id, tenant, sandbox_id, volume_id, engine, image, rootfs,"
                  + " name, size_bytes, used_bytes, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?,"
                  + " NULL, ?)",
              snapshot.id().value(),
              snapshot.tenant(),
              snapshot.sandbox().value(),
              snapshot.volume().value(),
              snapshot.engine(),
              snapshot.image(),
              snapshot.rootfs().wireName(),
              snapshot.name(),
              snapshot.size().bytes(),
              snapshot.createdAt().toEpochMilli());
        });
  }

  void finish(Snapshot snapshot) {
    database.write(
        handle ->
            handle.execute(
                "UPDATE snapshot SET used_bytes = ? WHERE id = ?",
                snapshot.usedBytes(),
                snapshot.id().value()));
  }

  Optional<Snapshot> find(SnapshotId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM snapshot WHERE id = :id AND used_bytes IS NOT NULL")
                .bind("id", id.value())
                .map(SnapshotStore::read)
                .findOne());
  }

  /** Newest first. */
  List<Snapshot> list(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT * FROM snapshot WHERE sandbox_id = :id AND used_bytes IS NOT NULL"
                        + " ORDER BY created_at DESC, id LIMIT "
                        + MAX_LISTED)
                .bind("id", sandbox.value())
                .map(SnapshotStore::read)
                .list());
  }

  /**
   * Newest first.
   *
   * @param tenant null: of all
   */
  List<Snapshot> ofTenant(@Nullable String tenant) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT * FROM snapshot WHERE (:tenant IS NULL OR tenant = :tenant)"
                        + " AND used_bytes IS NOT NULL ORDER BY created_at DESC, id LIMIT "
                        + MAX_LISTED)
                .bind("tenant", tenant)
                .map(SnapshotStore::read)
                .list());
  }

  /** Its volume belongs to nobody from now on. */
  void disown(Snapshot snapshot) {
    database.write(
        handle -> {
          disown(handle, snapshot);
          return snapshot;
        });
  }

  /**
   * What was begun and not finished was never promised to anybody.
   *
   * @param abandoned whether nobody is at it any more; asked while nobody else can write, so that
   *     none is finished meanwhile
   */
  void disownUnfinished(Predicate<SnapshotId> abandoned) {
    database.write(
        handle -> {
          handle
              .createQuery("SELECT * FROM snapshot WHERE used_bytes IS NULL")
              .map(SnapshotStore::read)
              .filter(snapshot -> abandoned.test(snapshot.id()))
              .list()
              .forEach(snapshot -> disown(handle, snapshot));
          return true;
        });
  }

  private static void disown(Handle handle, Snapshot snapshot) {
    if (handle.execute("DELETE FROM snapshot WHERE id = ?", snapshot.id().value()) == 1) {
      VolumeStore.insert(
          handle,
          snapshot.volume(),
          snapshot.tenant(),
          snapshot.engine(),
          null,
          null,
          snapshot.size());
    }
  }

  private static Snapshot read(ResultSet row, StatementContext context) throws SQLException {
    return new Snapshot(
        new SnapshotId(SandboxRow.text(row, "id")),
        SandboxRow.text(row, "tenant"),
        new SandboxId(SandboxRow.text(row, "sandbox_id")),
        new VolumeId(SandboxRow.text(row, "volume_id")),
        SandboxRow.text(row, "engine"),
        SandboxRow.text(row, "image"),
        Rootfs.parse(SandboxRow.text(row, "rootfs")),
        row.getString("name"),
        new DataSize(row.getLong("size_bytes")),
        row.getLong("used_bytes"),
        Instant.ofEpochMilli(row.getLong("created_at")));
  }
}
