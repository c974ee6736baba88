package dev.carrel.control.approval;

import dev.carrel.control.approval.Approval.Status;
import dev.carrel.spi.ApprovalId;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of approvals. */
final class ApprovalStore {
  private static final int KEPT_PER_TENANT = 10_000;

  private ApprovalStore() {}

  static void insert(Handle handle, Approval approval) {
    SandboxId sandbox = approval.sandbox();
    handle.execute(
        "INSERT INTO approval (id, tenant, namespace, sandbox_id, kind, subject, scope, reason,"
            + " requester, status, created_at, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        approval.id().value(),
        approval.tenant(),
        approval.namespace(),
        sandbox == null ? null : sandbox.value(),
        approval.kind().wireName(),
        approval.subject(),
        approval.scope().wireName(),
        approval.reason(),
        approval.requester(),
        approval.status().wireName(),
        approval.createdAt().toEpochMilli(),
        millis(approval.endsAt()));
    handle.execute(
        "DELETE FROM approval WHERE tenant = ? AND status NOT IN ('pending', 'approved')"
            + " AND created_at < (SELECT created_at FROM approval WHERE tenant = ?"
            + " ORDER BY created_at DESC LIMIT 1 OFFSET ?)",
        approval.tenant(),
        approval.tenant(),
        KEPT_PER_TENANT);
  }

  /** Moves it on if it still has the status of {@code from}. */
  static boolean move(Handle handle, Approval from, Approval next) {
    Approval.Decision decision = next.decision();
    return handle.execute(
            "UPDATE approval SET status = ?, scope = ?, ends_at = ?, decided_at = ?,"
                + " decided_by = ?, note = ? WHERE id = ? AND status = ?",
            next.status().wireName(),
            next.scope().wireName(),
            millis(next.endsAt()),
            decision == null ? null : decision.at().toEpochMilli(),
            decision == null ? null : decision.by(),
            decision == null ? null : decision.note(),
            from.id().value(),
            from.status().wireName())
        == 1;
  }

  static Optional<Approval> find(Handle handle, ApprovalId id) {
    return handle
        .createQuery("SELECT * FROM approval WHERE id = :id")
        .bind("id", id.value())
        .map(ApprovalStore::read)
        .findOne();
  }

  /** Pending and approved ones. */
  static List<Approval> open(Handle handle) {
    return handle
        .createQuery("SELECT * FROM approval WHERE status IN ('pending', 'approved')")
        .map(ApprovalStore::read)
        .list();
  }

  /** Newest first; null means any. */
  static List<Approval> list(
      Handle handle, @Nullable String tenant, @Nullable Status status, int limit) {
    return handle
        .createQuery(
            "SELECT * FROM approval WHERE (:tenant IS NULL OR tenant = :tenant)"
                + " AND (:status IS NULL OR status = :status)"
                + " ORDER BY created_at DESC, id LIMIT :limit")
        .bind("tenant", tenant)
        .bind("status", status == null ? null : status.wireName())
        .bind("limit", limit)
        .map(ApprovalStore::read)
        .list();
  }

  private static Approval read(ResultSet row, StatementContext context) throws SQLException {
    String sandbox = row.getString("sandbox_id");
    long decided = row.getLong("decided_at");
    boolean undecided = row.wasNull();
    return new Approval(
        new ApprovalId(row.getString("id")),
        row.getString("tenant"),
        row.getString("namespace"),
        sandbox == null ? null : new SandboxId(sandbox),
        Approval.Kind.parse(row.getString("kind")),
        row.getString("subject"),
        Approval.Scope.parse(row.getString("scope")),
        row.getString("reason"),
        row.getString("requester"),
        Status.parse(row.getString("status")),
        Instant.ofEpochMilli(row.getLong("created_at")),
        instant(row, "ends_at"),
        undecided
            ? null
            : new Approval.Decision(
                Instant.ofEpochMilli(decided), row.getString("decided_by"), row.getString("note")));
  }

  private static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
    long millis = row.getLong(column);
    return row.wasNull() ? null : Instant.ofEpochMilli(millis);
  }

  private static @Nullable Long millis(@Nullable Instant at) {
    return at == null ? null : at.toEpochMilli();
  }
}
