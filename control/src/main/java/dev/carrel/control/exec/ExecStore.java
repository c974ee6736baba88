package dev.carrel.control.exec;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Lines;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.ExecEvent.Exited;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/**
 * Rows of execs. Those that are acknowledged before their end are noted at once; of the others a
 * row follows the end by a tenth of a second, and nobody waits for it.
 */
final class ExecStore {
  private static final int MAX_CHANGES = 1000;
  private static final String COLUMNS =
      "id, sandbox_id, arguments, cwd, background, terminal, started_at, pid, ended_at, code,"
          + " signal, cause, duration_us, cpu_us, max_rss_bytes, descendants_left, message,"
          + " changes, changes_truncated, output_end, queued_us, principal, digest";

  // The sandbox may be gone by then, and its row with it: then there is nothing to note.
  private static final String INSERT =
      """
      INSERT OR IGNORE INTO exec (id, sandbox_id, arguments, cwd, background, terminal,
        started_at, pid, queued_us, principal, digest)
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM sandbox WHERE id = ?)\
      """;
  private static final String UPDATE =
      """
      UPDATE exec SET pid = ?, ended_at = ?, code = ?, signal = ?, cause = ?, duration_us = ?,
        cpu_us = ?, max_rss_bytes = ?, descendants_left = ?, message = ?, changes = ?,
        changes_truncated = ?, output_end = ?, output = ? WHERE id = ?\
      """;
  private static final String COUNT = "SELECT COUNT(*) FROM exec WHERE sandbox_id = ?";
  private static final int SLACK = 16;
  // What a key stands for is kept as long as the key.
  private static final String OLD =
      """
      SELECT id FROM exec WHERE sandbox_id = ? AND ended_at IS NOT NULL
        AND id NOT IN (SELECT target FROM request_key WHERE sandbox_id = ?)
        ORDER BY started_at DESC, id LIMIT -1 OFFSET ?\
      """;

  private final Database database;

  ExecStore(Database database) {
    this.database = database;
  }

  /**
   * Notes the start of one, unless it has ended by then: most do, and their end says all.
   *
   * @param ended whether it has
   */
  void started(Exec exec, BooleanSupplier ended) {
    database.later(
        handle -> {
          if (!ended.getAsBoolean()) {
            insert(handle, exec);
          }
        });
  }

  /** Notes that one is about to start which is acknowledged before its end. */
  void startedNow(Exec exec) {
    database.write(
        handle -> {
          insert(handle, exec);
          return exec;
        });
  }

  /** Forgets one that was noted and then did not start. */
  void neverStarted(ExecId id) {
    database.later(handle -> delete(handle, id));
  }

  /**
   * Notes the end and drops the oldest of the sandbox beyond {@code keep}, once they are a few.
   *
   * @param records the output, or null when it is in a file
   * @param dropped called for each exec whose file may go
   * @param settled called once the row says it, or never will
   */
  void ended(
      Exec exec, byte @Nullable [] records, int keep, Consumer<ExecId> dropped, Runnable settled) {
    var gone = new ArrayList<ExecId>();
    database.later(
        handle -> {
          gone.clear();
          insert(handle, exec);
          update(handle, exec, records);
          gone.addAll(prune(handle, exec.sandbox(), keep));
        },
        written -> {
          // Otherwise their rows are still there, and lead to the files.
          if (written) {
            gone.forEach(dropped);
          }
          settled.run();
        });
  }

  /** Newest first. */
  List<Exec> list(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT "
                        + COLUMNS
                        + " FROM exec WHERE sandbox_id = :id ORDER BY started_at DESC, id")
                .bind("id", sandbox.value())
                .map(ExecStore::row)
                .list());
  }

  /** Of all sandboxes. */
  List<Exec> running() {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT " + COLUMNS + " FROM exec WHERE ended_at IS NULL")
                .map(ExecStore::row)
                .list());
  }

  Optional<Exec> find(SandboxId sandbox, ExecId id) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT " + COLUMNS + " FROM exec WHERE sandbox_id = :sandbox AND id = :id")
                .bind("sandbox", sandbox.value())
                .bind("id", id.value())
                .map(ExecStore::row)
                .findOne());
  }

  /** Whose sandbox it is; empty when that is gone. */
  Optional<Owner> owner(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT tenant, namespace FROM sandbox WHERE id = :id")
                .bind("id", sandbox.value())
                .map((row, _) -> new Owner(text(row, "tenant"), text(row, "namespace")))
                .findOne());
  }

  /** The stored output records, or empty when they are in a file. */
  Optional<byte[]> records(ExecId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT output FROM exec WHERE id = :id AND output IS NOT NULL")
                .bind("id", id.value())
                .mapTo(byte[].class)
                .findOne());
  }

  static void insert(Handle handle, Exec exec) {
    Sql.update(
        handle,
        INSERT,
        exec.id().value(),
        exec.sandbox().value(),
        Lines.ofList(exec.arguments()),
        exec.cwd(),
        exec.background(),
        exec.terminal(),
        exec.startedAt().toEpochMilli(),
        exec.pid(),
        exec.queued().toNanos() / 1000,
        exec.principal(),
        exec.digest(),
        exec.sandbox().value());
  }

  static void delete(Handle handle, ExecId id) {
    Sql.update(handle, "DELETE FROM exec WHERE id = ?", id.value());
  }

  private static void update(Handle handle, Exec exec, byte @Nullable [] records) {
    Exited exited = Objects.requireNonNull(exec.exited());
    Sql.update(
        handle,
        UPDATE,
        exec.pid(),
        Objects.requireNonNull(exec.endedAt()).toEpochMilli(),
        exited.code(),
        exited.signal(),
        exited.cause().name(),
        exited.duration().toNanos() / 1000,
        exited.cpu().toNanos() / 1000,
        exited.maxRssBytes(),
        exited.left(),
        exited.message(),
        Lines.ofChanges(exited.changes(), MAX_CHANGES),
        exited.changesTruncated() || exited.changes().size() > MAX_CHANGES,
        exec.outputEnd(),
        records,
        exec.id().value());
  }

  private static List<ExecId> prune(Handle handle, SandboxId sandbox, int keep) {
    String id = sandbox.value();
    // To find the oldest takes a look at all: not each time for one.
    if (Sql.one(handle, COUNT, row -> row.getInt(1), id) <= keep + keep / SLACK) {
      return List.of();
    }
    List<ExecId> gone = Sql.list(handle, OLD, row -> new ExecId(row.getString(1)), id, id, keep);
    gone.forEach(exec -> delete(handle, exec));
    return gone;
  }

  private static Exec row(ResultSet row, StatementContext context) throws SQLException {
    long ended = row.getLong("ended_at");
    boolean running = row.wasNull();
    return new Exec(
        new ExecId(text(row, "id")),
        new SandboxId(text(row, "sandbox_id")),
        Lines.toList(text(row, "arguments")),
        row.getString("cwd"),
        row.getBoolean("background"),
        row.getBoolean("terminal"),
        Duration.ofNanos(row.getLong("queued_us") * 1000),
        text(row, "principal"),
        text(row, "digest"),
        Instant.ofEpochMilli(row.getLong("started_at")),
        running ? null : Instant.ofEpochMilli(ended),
        row.getLong("pid"),
        row.getLong("output_end"),
        running ? null : exited(row));
  }

  private static Exited exited(ResultSet row) throws SQLException {
    int signal = row.getInt("signal");
    boolean signalled = !row.wasNull();
    return new Exited(
        row.getInt("code"),
        signalled ? signal : null,
        Cause.valueOf(text(row, "cause")),
        Duration.ofNanos(row.getLong("duration_us") * 1000),
        Duration.ofNanos(row.getLong("cpu_us") * 1000),
        row.getLong("max_rss_bytes"),
        row.getInt("descendants_left"),
        Lines.toChanges(text(row, "changes")),
        row.getBoolean("changes_truncated"),
        row.getString("message"));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }

  /** Who owns a sandbox. */
  record Owner(String tenant, String namespace) {}
}
