package dev.carrel.control.audit;

import dev.carrel.control.audit.Checkpoint.Kind;
import dev.carrel.control.store.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of the chain and of its checkpoints. */
final class AuditStore {
  static final String INSERT =
      "INSERT INTO audit (sequence, at_us, tenant, namespace, sandbox_id, action, body, hash)"
          + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

  static final String MARK = "UPDATE audit_journal SET written = ?";

  private static final String COLUMNS =
      "SELECT sequence, at_us, tenant, namespace, sandbox_id, action, body, hash FROM audit";

  private final Database database;

  AuditStore(Database database) {
    this.database = database;
  }

  /** With {@link #INSERT}. */
  static void insert(PreparedStatement statement, StoredRecord row) throws SQLException {
    statement.setLong(1, row.sequence());
    statement.setLong(2, row.atMicros());
    statement.setString(3, row.tenant());
    statement.setString(4, row.namespace());
    statement.setString(5, row.sandbox());
    statement.setString(6, row.action());
    statement.setString(7, row.body());
    statement.setBytes(8, row.hash());
    statement.executeUpdate();
  }

  static void insert(Handle handle, Checkpoint checkpoint) {
    handle.execute(
        "INSERT OR IGNORE INTO audit_checkpoint (kind, sequence, at_us, hash, signature)"
            + " VALUES (?, ?, ?, ?, ?)",
        checkpoint.kind().wireName(),
        checkpoint.sequence(),
        checkpoint.atMicros(),
        checkpoint.hash(),
        checkpoint.signature());
  }

  /** The last number of the journal that is in the chain. */
  long written() {
    return database.read(
        handle -> handle.createQuery("SELECT written FROM audit_journal").mapTo(Long.class).one());
  }

  Optional<StoredRecord> last() {
    return database.read(
        handle ->
            handle
                .createQuery(COLUMNS + " ORDER BY sequence DESC LIMIT 1")
                .map(AuditStore::row)
                .findOne());
  }

  Optional<StoredRecord> find(long sequence) {
    return database.read(
        handle ->
            handle
                .createQuery(COLUMNS + " WHERE sequence = ?")
                .bind(0, sequence)
                .map(AuditStore::row)
                .findOne());
  }

  /** In order, also what is out of place. */
  List<StoredRecord> after(long sequence, int limit) {
    return database.read(
        handle ->
            handle
                .createQuery(COLUMNS + " WHERE sequence > ? ORDER BY sequence LIMIT ?")
                .bind(0, sequence)
                .bind(1, limit)
                .map(AuditStore::row)
                .list());
  }

  /**
   * @param tenant null: of all
   */
  List<StoredRecord> page(@Nullable String tenant, AuditQuery query) {
    var where = new ArrayList<String>();
    var values = new ArrayList<Object>();
    condition(where, values, "tenant = ?", tenant);
    condition(where, values, "namespace = ?", query.namespace());
    condition(
        where, values, "sandbox_id = ?", query.sandbox() == null ? null : query.sandbox().value());
    Instant since = query.since();
    condition(
        where,
        values,
        "at_us >= ?",
        since == null ? null : ChronoUnit.MICROS.between(Instant.EPOCH, since));
    condition(where, values, "sequence < ?", query.before());
    condition(where, values, "sequence > ?", query.after());
    String action = query.action();
    if (action != null) {
      where.add("(action = ? OR substr(action, 1, ?) = ?)");
      values.add(action);
      values.add(action.length() + 1);
      values.add(action + ".");
    }
    String sql =
        COLUMNS
            + (where.isEmpty() ? "" : " WHERE " + String.join(" AND ", where))
            + (query.after() == null ? " ORDER BY sequence DESC" : " ORDER BY sequence")
            + " LIMIT "
            + query.limit();
    return database.read(
        handle -> {
          var select = handle.createQuery(sql);
          for (int i = 0; i < values.size(); i++) {
            select.bind(i, values.get(i));
          }
          return select.map(AuditStore::row).list();
        });
  }

  List<Checkpoint> checkpoints() {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT kind, sequence, at_us, hash, signature FROM audit_checkpoint"
                        + " ORDER BY sequence")
                .map(
                    (row, _) ->
                        new Checkpoint(
                            "pruned".equals(row.getString("kind")) ? Kind.PRUNED : Kind.HEAD,
                            row.getLong("sequence"),
                            row.getLong("at_us"),
                            bytes(row, "hash"),
                            bytes(row, "signature")))
                .list());
  }

  /** The last record of those that are older than this; 0 when none is. */
  long lastBefore(long atMicros) {
    return database.read(
        handle ->
            handle
                // The oldest record that stays: times can go back, sequences cannot.
                .createQuery(
                    "SELECT COALESCE((SELECT sequence FROM audit WHERE at_us >= :at"
                        + " ORDER BY sequence LIMIT 1),"
                        + " (SELECT MAX(sequence) + 1 FROM audit), 1) - 1")
                .bind("at", atMicros)
                .mapTo(Long.class)
                .one());
  }

  /** Bytes that one of the newest records takes, on average and about. */
  long usualSize() {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT COALESCE(AVG(LENGTH(body)), 0) + 250 FROM"
                        + " (SELECT body FROM audit ORDER BY sequence DESC LIMIT 1000)")
                .mapTo(Long.class)
                .one());
  }

  static void prune(Handle handle, long until) {
    handle.execute("DELETE FROM audit WHERE sequence <= ?", until);
    handle.execute(
        "DELETE FROM audit_checkpoint WHERE sequence < ? OR (sequence = ? AND kind = 'head')",
        until,
        until);
  }

  private static void condition(
      List<String> where, List<Object> values, String sql, @Nullable Object value) {
    if (value != null) {
      where.add(sql);
      values.add(value);
    }
  }

  private static StoredRecord row(ResultSet row, StatementContext context) throws SQLException {
    return new StoredRecord(
        row.getLong("sequence"),
        row.getLong("at_us"),
        text(row, "tenant"),
        text(row, "namespace"),
        row.getString("sandbox_id"),
        text(row, "action"),
        text(row, "body"),
        bytes(row, "hash"));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }

  private static byte[] bytes(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getBytes(column), new byte[0]);
  }
}
