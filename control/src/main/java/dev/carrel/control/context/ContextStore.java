package dev.carrel.control.context;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Lines;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of contexts: just enough to find their interpreters again. */
final class ContextStore {
  private static final String SAVE =
      """
      INSERT INTO context (id, sandbox_id, language, cwd, environment, is_default, exec_id,
        execution_count, created_at, last_used_at, preload, start, secrets)
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
      WHERE EXISTS (SELECT 1 FROM sandbox WHERE id = ?)
      ON CONFLICT (id) DO UPDATE SET exec_id = excluded.exec_id, start = excluded.start,
        execution_count = excluded.execution_count, last_used_at = excluded.last_used_at\
      """;

  private final Database database;

  ContextStore(Database database) {
    this.database = database;
  }

  /** Writes soon how much the context was used. */
  void note(LiveContext context) {
    Context now = context.snapshot();
    database.later(
        handle ->
            handle.execute(
                "UPDATE context SET execution_count = ?, last_used_at = ? WHERE id = ?",
                now.executionCount(),
                now.lastUsedAt().toEpochMilli(),
                now.id().value()));
  }

  /**
   * Writes which interpreter a context has now. At once: what somebody is told of it must be found
   * again by the next server, however this one ends.
   */
  void save(LiveContext context) {
    Context now = context.snapshot();
    CreateContext request = context.request();
    Kernel kernel = context.kernel();
    String exec = kernel == null ? null : kernel.exec().value();
    database.write(
        handle ->
            Sql.update(
                handle,
                SAVE,
                now.id().value(),
                now.sandbox().value(),
                now.language().wireName(),
                request.cwd(),
                Lines.ofMap(request.environment()),
                now.isDefault(),
                exec,
                now.executionCount(),
                now.createdAt().toEpochMilli(),
                now.lastUsedAt().toEpochMilli(),
                now.preload() == null ? null : now.preload().wireName(),
                now.start() == null ? null : now.start().wireName(),
                Lines.ofList(request.secrets()),
                now.sandbox().value()));
  }

  void remove(ContextId id) {
    database.write(handle -> handle.execute("DELETE FROM context WHERE id = ?", id.value()));
  }

  List<Row> list(SandboxId sandbox) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM context WHERE sandbox_id = :id ORDER BY created_at")
                .bind("id", sandbox.value())
                .map(ContextStore::row)
                .list());
  }

  /** Of all sandboxes. */
  List<Row> all() {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM context ORDER BY created_at")
                .map(ContextStore::row)
                .list());
  }

  private static Row row(ResultSet row, StatementContext context) throws SQLException {
    String exec = row.getString("exec_id");
    String preload = row.getString("preload");
    String start = row.getString("start");
    return new Row(
        new ContextId(text(row, "id")),
        new SandboxId(text(row, "sandbox_id")),
        new CreateContext(
            Language.parse(text(row, "language")),
            row.getString("cwd"),
            Lines.toMap(text(row, "environment")),
            preload == null ? null : Preload.parse(preload),
            Lines.toList(text(row, "secrets"))),
        row.getBoolean("is_default"),
        exec == null ? null : new ExecId(exec),
        start == null ? null : Context.Start.valueOf(start.toUpperCase(Locale.ROOT)),
        row.getLong("execution_count"),
        Instant.ofEpochMilli(row.getLong("created_at")));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }

  /** What is known of a context of an earlier process. */
  record Row(
      ContextId id,
      SandboxId sandbox,
      CreateContext request,
      boolean isDefault,
      @Nullable ExecId exec,
      Context.@Nullable Start start,
      long executionCount,
      Instant createdAt) {}
}
