package dev.carrel.control.sandbox;

import dev.carrel.control.store.Lines;
import dev.carrel.egress.Policy;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.SqlStatement;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** A sandbox as columns. */
final class SandboxRow {
  /** Sets what {@link #changeable} binds. */
  static final String CHANGES =
      """
      memory_bytes = :memory, cpus = :cpus, pids = :pids, disk_bytes = :disk, open_files = :files,
      idle_timeout_ms = :idle, on_idle = :onIdle, max_life_ms = :life, at_end = :atEnd, network = :network, env_vars = :env,
      metadata = :metadata, frozen = :frozen, volume_id = :volume, volume_name = :volumeName,
      last_activity_at = :active, exec_count = :execs, exec_total_ms = :execMillis,
      bytes_uploaded = :uploaded, bytes_downloaded = :downloaded\
      """;

  private SandboxRow() {}

  static void insert(Handle handle, Sandbox s) {
    changeable(
            handle.createUpdate(
                """
                INSERT INTO sandbox (id, tenant, owner, namespace, status, generation, image, engine, runtime,
                  isolation, memory_bytes, cpus, pids, disk_bytes, open_files, idle_timeout_ms,
                  on_idle, max_life_ms, at_end, network, isolated, rootfs, env_vars, metadata, session_key,
                  volume_id, volume_name, created_at, last_activity_at, exec_count, exec_total_ms,
                  bytes_uploaded, bytes_downloaded, secrets, frozen)
                VALUES (:id, :tenant, :owner, :namespace, :status, :generation, :image, :engine, :runtime,
                  NULL, :memory, :cpus, :pids, :disk, :files, :idle, :onIdle, :life, :atEnd,
                  :network, :isolated, :rootfs, :env, :metadata, :key, :volume, :volumeName, :created, :active,
                  :execs,
                  :execMillis, :uploaded, :downloaded, :secrets, :frozen)\
                """),
            s)
        .bind("id", s.id().value())
        .bind("tenant", s.tenant())
        .bind("owner", s.owner())
        .bind("namespace", s.namespace())
        .bind("status", s.status().wireName())
        .bind("generation", s.generation())
        .bind("image", s.image())
        .bind("engine", s.engine())
        .bind("runtime", s.runtime())
        .bind("isolated", s.isolated())
        .bind("rootfs", s.rootfs().wireName())
        .bind("key", s.sessionKey())
        .bind("secrets", Lines.ofList(s.secrets()))
        .bind("created", s.createdAt().toEpochMilli())
        .execute();
  }

  /** Binds what can change without a change of status. */
  static <S extends SqlStatement<S>> S changeable(S statement, Sandbox s) {
    Sandbox.Volume volume = s.volume();
    return statement
        .bind("memory", s.limits().memory().bytes())
        .bind("cpus", s.limits().cpus())
        .bind("pids", s.limits().pids())
        .bind("disk", s.limits().disk().bytes())
        .bind("files", s.limits().openFiles())
        .bind("idle", s.expiry().idleTimeout().toMillis())
        .bind("onIdle", s.expiry().onIdle().wireName())
        .bind("life", s.expiry().maxLife().toMillis())
        .bind("atEnd", s.expiry().atEnd().wireName())
        .bind("network", s.network().text())
        .bind("env", Lines.ofMap(s.envVars()))
        .bind("metadata", Lines.ofMap(s.metadata()))
        .bind("frozen", s.frozen())
        .bind("volume", volume == null ? null : volume.id().value())
        .bind("volumeName", volume == null ? null : volume.name())
        .bind("active", s.lastActivityAt().toEpochMilli())
        .bind("execs", s.counters().execCount())
        .bind("execMillis", s.counters().execTotalMillis())
        .bind("uploaded", s.counters().bytesUploaded())
        .bind("downloaded", s.counters().bytesDownloaded());
  }

  static Sandbox read(ResultSet row, StatementContext context) throws SQLException {
    String cause = row.getString("failure_cause");
    String volume = row.getString("volume_id");
    return new Sandbox(
        new SandboxId(text(row, "id")),
        text(row, "tenant"),
        text(row, "owner"),
        text(row, "namespace"),
        SandboxStatus.parse(text(row, "status")),
        row.getLong("generation"),
        text(row, "image"),
        text(row, "engine"),
        text(row, "runtime"),
        isolation(row.getString("isolation")),
        new Limits(
            new DataSize(row.getLong("memory_bytes")),
            row.getDouble("cpus"),
            row.getInt("pids"),
            new DataSize(row.getLong("disk_bytes")),
            row.getInt("open_files")),
        new Sandbox.Expiry(
            Duration.ofMillis(row.getLong("idle_timeout_ms")),
            OnIdle.parse(text(row, "on_idle")),
            Duration.ofMillis(row.getLong("max_life_ms")),
            OnIdle.parse(text(row, "at_end"))),
        Policy.parse(text(row, "network")),
        row.getBoolean("isolated"),
        Rootfs.parse(text(row, "rootfs")),
        Lines.toMap(text(row, "env_vars")),
        Lines.toMap(text(row, "metadata")),
        row.getString("session_key"),
        Lines.toList(text(row, "secrets")),
        row.getString("frozen"),
        volume == null
            ? null
            : new Sandbox.Volume(new VolumeId(volume), row.getString("volume_name")),
        Instant.ofEpochMilli(row.getLong("created_at")),
        Instant.ofEpochMilli(row.getLong("last_activity_at")),
        instant(row, "started_at"),
        instant(row, "stopped_at"),
        new Sandbox.Counters(
            row.getLong("exec_count"),
            row.getLong("exec_total_ms"),
            row.getLong("bytes_uploaded"),
            row.getLong("bytes_downloaded")),
        cause == null
            ? null
            : new Failure(cause, text(row, "failure_message"), text(row, "failure_hint")));
  }

  static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }

  static @Nullable Long millis(@Nullable Instant instant) {
    return instant == null ? null : instant.toEpochMilli();
  }

  static @Nullable String isolationText(@Nullable Isolation isolation) {
    if (isolation == null) {
      return null;
    }
    var items = new ArrayList<String>();
    items.add(isolation.strength().name().toLowerCase(Locale.ROOT));
    for (Isolation.Measure measure : isolation.measures()) {
      items.add(measure.name());
      items.add(String.valueOf(measure.applied()));
      items.add(measure.detail());
    }
    return Lines.ofList(items);
  }

  private static @Nullable Isolation isolation(@Nullable String text) {
    if (text == null) {
      return null;
    }
    List<String> items = Lines.toList(text);
    var measures = new ArrayList<Isolation.Measure>();
    for (int i = 1; i + 2 < items.size(); i += 3) {
      measures.add(
          new Isolation.Measure(
              items.get(i), Boolean.parseBoolean(items.get(i + 1)), items.get(i + 2)));
    }
    return new Isolation(
        Isolation.Strength.valueOf(items.getFirst().toUpperCase(Locale.ROOT)), measures);
  }

  private static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
    long millis = row.getLong(column);
    return row.wasNull() ? null : Instant.ofEpochMilli(millis);
  }
}
