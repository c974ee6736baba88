package dev.carrel.control.transfer;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExportId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** Rows of exports. */
final class ExportStore {
  private static final int MAX_OF_SANDBOX = 1000;

  private final Database database;

  ExportStore(Database database) {
    this.database = database;
  }

  /** The same path keeps its id. */
  Export put(Export fresh) {
    return database.write(
        handle -> {
          int others =
              handle
                  .createQuery("SELECT count(*) FROM export WHERE sandbox_id = ? AND path <> ?")
                  .bind(0, fresh.sandbox().value())
                  .bind(1, fresh.path())
                  .mapTo(Integer.class)
                  .one();
          if (others >= MAX_OF_SANDBOX) {
            throw new SandboxException(
                    ErrorCode.LIMIT_REACHED, "a sandbox has at most " + MAX_OF_SANDBOX + " exports")
                .withHint("export the folder that they are in, or delete some");
          }
          handle.execute(
              "INSERT INTO export (id, tenant, sandbox_id, path, created_by, created_at)"
                  + " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (sandbox_id, path) DO NOTHING",
              fresh.id().value(),
              fresh.tenant(),
              fresh.sandbox().value(),
              fresh.path(),
              fresh.createdBy(),
              fresh.createdAt().toEpochMilli());
          return handle
              .createQuery("SELECT * FROM export WHERE sandbox_id = ? AND path = ?")
              .bind(0, fresh.sandbox().value())
              .bind(1, fresh.path())
              .map(ExportStore::read)
              .one();
        });
  }

  Optional<Export> find(ExportId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM export WHERE id = ?")
                .bind(0, id.value())
                .map(ExportStore::read)
                .findOne());
  }

  /** By path. */
  List<Export> of(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM export WHERE sandbox_id = ? ORDER BY path")
                .bind(0, sandbox.value())
                .map(ExportStore::read)
                .list());
  }

  boolean delete(SandboxId sandbox, ExportId id) {
    return database.write(
            handle ->
                handle.execute(
                    "DELETE FROM export WHERE id = ? AND sandbox_id = ?",
                    id.value(),
                    sandbox.value()))
        > 0;
  }

  static void deleteAll(Handle handle, SandboxId sandbox) {
    Sql.update(handle, "DELETE FROM export WHERE sandbox_id = ?", sandbox.value());
  }

  private static Export read(ResultSet row, StatementContext context) throws SQLException {
    return new Export(
        new ExportId(row.getString("id")),
        row.getString("tenant"),
        new SandboxId(row.getString("sandbox_id")),
        row.getString("path"),
        row.getString("created_by"),
        Instant.ofEpochMilli(row.getLong("created_at")));
  }
}
