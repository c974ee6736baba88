package dev.carrel.control.sandbox;

import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import java.util.List;
import org.jdbi.v3.core.Handle;

/** Rows of volumes. A row is there before its volume is made and until it is removed. */
final class VolumeStore {
  private final Database database;

  VolumeStore(Database database) {
    this.database = database;
  }

  /** Notes whose volume it is, and makes its row at the first time. */
  static Sandbox claim(Handle handle, Sandbox sandbox, long maxBytes) {
    Sandbox.Volume volume = sandbox.volume();
    if (volume == null || exists(handle, volume.id())) {
      return sandbox;
    }
    requireRoom(handle, sandbox.tenant(), sandbox.limits().disk().bytes(), maxBytes);
    long now = System.currentTimeMillis();
    handle.execute(
        "INSERT INTO volume (id, tenant, engine, name, sandbox_id, size_bytes, created_at, used_at)"
            + " VALUES (?, ?, ?, NULL, ?, ?, ?, ?)",
        volume.id().value(),
        sandbox.tenant(),
        sandbox.engine(),
        sandbox.id().value(),
        sandbox.limits().disk().bytes(),
        now,
        now);
    return sandbox;
  }

  /** After the volume itself is gone. */
  void remove(VolumeId id) {
    database.write(handle -> handle.execute("DELETE FROM volume WHERE id = ?", id.value()));
  }

  /** Those that belong to one sandbox, and that sandbox does not have them. */
  List<Unowned> unowned() {
    return database.read(
        handle ->
            handle
                .createQuery(
                    """
                    SELECT id, engine FROM volume v WHERE name IS NULL AND NOT EXISTS
                      (SELECT 1 FROM sandbox WHERE volume_id = v.id)\
                    """)
                .map(
                    (row, _) ->
                        new Unowned(
                            new VolumeId(SandboxRow.text(row, "id")),
                            SandboxRow.text(row, "engine")))
                .list());
  }

  private static boolean exists(Handle handle, VolumeId id) {
    return handle
        .createQuery("SELECT 1 FROM volume WHERE id = :id")
        .bind("id", id.value())
        .mapTo(Integer.class)
        .findOne()
        .isPresent();
  }

  private static void requireRoom(Handle handle, String tenant, long more, long max) {
    long taken =
        handle
            .createQuery("SELECT COALESCE(SUM(size_bytes), 0) FROM volume WHERE tenant = :tenant")
            .bind("tenant", tenant)
            .mapTo(Long.class)
            .one();
    if (taken + more > max) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "this tenant's volumes have %d MB together, and %d more would be over the %d MB allowed"
                  .formatted(taken >> 20, more >> 20, max >> 20))
          .withHint(
              "delete stopped sandboxes, snapshots or volumes, ask for less disk_mb, or raise"
                  + " volume.max-mb-per-tenant");
    }
  }

  /** A volume without its sandbox. */
  record Unowned(VolumeId id, String engine) {}
}
