package dev.carrel.control.artifact;

import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** Rows of artifacts. They outlive their sandboxes, so that a file can be recognised later. */
final class ArtifactStore {
  private static final int KEPT_PER_TENANT = 100_000;

  private ArtifactStore() {}

  static void insert(Handle handle, Artifact artifact) {
    ExecId exec = artifact.exec();
    handle.execute(
        "INSERT INTO artifact (tenant, namespace, sandbox_id, exec_id, path, sha256, size_bytes,"
            + " mime, signature, key_id, signed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        artifact.tenant(),
        artifact.namespace(),
        artifact.sandbox().value(),
        exec == null ? null : exec.value(),
        artifact.path(),
        artifact.sha256(),
        artifact.size(),
        artifact.mime(),
        artifact.signature(),
        artifact.key(),
        artifact.signedAt().toEpochMilli());
  }

  /** The oldest of a tenant make room. */
  static void prune(Handle handle, String tenant) {
    handle.execute(
        "DELETE FROM artifact WHERE tenant = ? AND id <= (SELECT id FROM artifact"
            + " WHERE tenant = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        tenant,
        tenant,
        KEPT_PER_TENANT);
  }

  /** Newest first. */
  static List<Artifact> ofSandbox(
      Handle handle, SandboxId sandbox, @Nullable ExecId exec, int limit) {
    return handle
        .createQuery(
            "SELECT * FROM artifact WHERE sandbox_id = :sandbox"
                + " AND (:exec IS NULL OR exec_id = :exec) ORDER BY id DESC LIMIT :limit")
        .bind("sandbox", sandbox.value())
        .bind("exec", exec == null ? null : exec.value())
        .bind("limit", limit)
        .map(ArtifactStore::read)
        .list();
  }

  /** The newest of each path, by path. */
  static List<Artifact> latest(Handle handle, SandboxId sandbox, int limit) {
    return handle
        .createQuery(
            "SELECT * FROM artifact WHERE id IN (SELECT max(id) FROM artifact"
                + " WHERE sandbox_id = :sandbox GROUP BY path) ORDER BY path LIMIT :limit")
        .bind("sandbox", sandbox.value())
        .bind("limit", limit)
        .map(ArtifactStore::read)
        .list();
  }

  /**
   * Newest first.
   *
   * @param tenant null: of any
   */
  static List<Artifact> find(Handle handle, @Nullable String tenant, String sha256, int limit) {
    return handle
        .createQuery(
            "SELECT * FROM artifact WHERE sha256 = :sha256"
                + " AND (:tenant IS NULL OR tenant = :tenant) ORDER BY id DESC LIMIT :limit")
        .bind("sha256", sha256)
        .bind("tenant", tenant)
        .bind("limit", limit)
        .map(ArtifactStore::read)
        .list();
  }

  private static Artifact read(ResultSet row, StatementContext context) throws SQLException {
    String exec = row.getString("exec_id");
    return new Artifact(
        row.getString("tenant"),
        row.getString("namespace"),
        new SandboxId(row.getString("sandbox_id")),
        exec == null ? null : new ExecId(exec),
        row.getString("path"),
        row.getString("sha256"),
        row.getLong("size_bytes"),
        row.getString("mime"),
        row.getString("signature"),
        row.getString("key_id"),
        Instant.ofEpochMilli(row.getLong("signed_at")));
  }
}
