package dev.carrel.control.vault;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** Rows of secrets, and of where their values have been. */
final class VaultStore {
  private final Database database;

  VaultStore(Database database) {
    this.database = database;
  }

  List<SecretRow> all() {
    return database.read(
        handle -> handle.createQuery("SELECT * FROM secret").map(VaultStore::row).list());
  }

  void put(SecretRow row) {
    database.write(
        handle ->
            handle
                .createUpdate(
                    """
                    INSERT INTO secret (id, tenant, namespace, name, version, canary, hosts,
                      sealed, created_at, updated_at)
                    VALUES (:id, :tenant, :namespace, :name, :version, :canary, :hosts, :sealed,
                      :created, :updated)
                    ON CONFLICT (id) DO UPDATE SET version = excluded.version,
                      sealed = excluded.sealed, updated_at = excluded.updated_at\
                    """)
                .bind("id", row.id())
                .bind("tenant", row.tenant())
                .bind("namespace", row.namespace())
                .bind("name", row.name())
                .bind("version", row.version())
                .bind("canary", row.canary())
                .bind("hosts", String.join("\n", row.hosts()))
                .bind("sealed", row.sealed())
                .bind("created", row.createdAt().toEpochMilli())
                .bind("updated", row.updatedAt().toEpochMilli())
                .execute());
  }

  void sync() {
    database.sync();
  }

  void remove(String id) {
    database.write(handle -> handle.execute("DELETE FROM secret WHERE id = ?", id));
  }

  /** Notes that a sandbox or a volume may hold these from now on. */
  void trace(String holder, List<SecretRow> sealed) {
    database.write(
        handle -> {
          for (SecretRow row : sealed) {
            handle.execute(
                "INSERT INTO secret_trace (holder, secret_id, tenant, namespace, name, version,"
                    + " canary, sealed, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                    + " ON CONFLICT DO NOTHING",
                holder,
                row.id(),
                row.tenant(),
                row.namespace(),
                row.name(),
                row.version(),
                row.canary(),
                row.sealed(),
                row.createdAt().toEpochMilli());
          }
          return sealed.size();
        });
  }

  List<SecretRow> traces(String holder) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT *, secret_id AS id, created_at AS updated_at, '' AS hosts"
                        + " FROM secret_trace"
                        + " WHERE holder = :holder")
                .bind("holder", holder)
                .map(VaultStore::row)
                .list());
  }

  boolean anyTrace() {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT EXISTS (SELECT 1 FROM secret_trace)")
                .mapTo(Boolean.class)
                .one());
  }

  static void forget(Handle handle, String holder) {
    Sql.update(handle, "DELETE FROM secret_placeholder WHERE sandbox_id = ?", holder);
    Sql.update(handle, "DELETE FROM secret_trace WHERE holder = ?", holder);
  }

  /** Notes that a sandbox has a placeholder for this one. */
  void placed(SandboxId sandbox, String secretId) {
    database.write(
        handle ->
            handle.execute(
                "INSERT INTO secret_placeholder (sandbox_id, secret_id) VALUES (?, ?)"
                    + " ON CONFLICT DO NOTHING",
                sandbox.value(),
                secretId));
  }

  /** Ids of secrets that it has placeholders for. */
  Set<String> placed(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT secret_id FROM secret_placeholder WHERE sandbox_id = :id")
                .bind("id", sandbox.value())
                .mapTo(String.class)
                .set());
  }

  private static SecretRow row(ResultSet row, StatementContext context) throws SQLException {
    return new SecretRow(
        text(row, "id"),
        text(row, "tenant"),
        text(row, "namespace"),
        text(row, "name"),
        row.getLong("version"),
        row.getBoolean("canary"),
        text(row, "hosts").lines().toList(),
        Objects.requireNonNullElse(row.getBytes("sealed"), new byte[0]),
        Instant.ofEpochMilli(row.getLong("created_at")),
        Instant.ofEpochMilli(row.getLong("updated_at")));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }
}
