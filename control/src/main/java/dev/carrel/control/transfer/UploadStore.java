package dev.carrel.control.transfer;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.UploadId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** Rows of uploads. */
final class UploadStore {
  private final Database database;

  UploadStore(Database database) {
    this.database = database;
  }

  void insert(Upload upload) {
    database.write(
        handle ->
            handle.execute(
                "INSERT INTO upload (id, tenant, sandbox_id, path, size_bytes, created_at)"
                    + " VALUES (?, ?, ?, ?, ?, ?)",
                upload.id().value(),
                upload.tenant(),
                upload.sandbox().value(),
                upload.path(),
                upload.size(),
                upload.createdAt().toEpochMilli()));
  }

  Optional<Upload> find(SandboxId sandbox, UploadId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM upload WHERE id = ? AND sandbox_id = ?")
                .bind(0, id.value())
                .bind(1, sandbox.value())
                .map(UploadStore::read)
                .findOne());
  }

  List<Upload> of(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM upload WHERE sandbox_id = ? ORDER BY created_at")
                .bind(0, sandbox.value())
                .map(UploadStore::read)
                .list());
  }

  void finish(UploadId id) {
    database.write(
        handle -> handle.execute("UPDATE upload SET whole = 1 WHERE id = ?", id.value()));
  }

  void delete(UploadId id) {
    database.write(handle -> handle.execute("DELETE FROM upload WHERE id = ?", id.value()));
  }

  static void deleteAll(Handle handle, SandboxId sandbox) {
    Sql.update(handle, "DELETE FROM upload WHERE sandbox_id = ?", sandbox.value());
  }

  private static Upload read(ResultSet row, StatementContext context) throws SQLException {
    return new Upload(
        new UploadId(row.getString("id")),
        row.getString("tenant"),
        new SandboxId(row.getString("sandbox_id")),
        row.getString("path"),
        row.getLong("size_bytes"),
        row.getBoolean("whole"),
        Instant.ofEpochMilli(row.getLong("created_at")));
  }
}
