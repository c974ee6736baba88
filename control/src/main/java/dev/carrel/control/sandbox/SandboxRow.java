package dev.carrel.control.sandbox;

import dev.carrel.control.store.Lines;
import dev.carrel.control.store.Sql;
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
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/** A sandbox as columns. */
final class SandboxRow {
  /** Sets what {@link #changes} has, in its order. */
  static final String CHANGES =
      """
      memory_bytes = ?, cpus = ?, pids = ?, disk_bytes = ?, open_files = ?, idle_timeout_ms = ?,
      on_idle = ?, max_life_ms = ?, at_end = ?, network = ?, env_vars = ?, metadata = ?, frozen = ?,
      volume_id = ?, volume_name = ?, last_activity_at = ?, exec_count = ?, exec_total_ms = ?,
      bytes_uploaded = ?, bytes_downloaded = ?\
      """;

  private static final String INSERT =
      """
      INSERT INTO sandbox (id, tenant, owner, namespace, status, generation, image, engine, runtime,
        isolated, rootfs, session_key, secrets, created_at,
        memory_bytes, cpus, pids, disk_bytes, open_files, idle_timeout_ms,
        on_idle, max_life_ms, at_end, network, env_vars, metadata, frozen,
        volume_id, volume_name, last_activity_at, exec_count, exec_total_ms,
        bytes_uploaded, bytes_downloaded)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)\
      """;

  private SandboxRow() {}

  static void insert(Handle handle, Sandbox s) {
    var values = new ArrayList<@Nullable Object>();
    values.add(s.id().value());
    values.add(s.tenant());
    values.add(s.owner());
    values.add(s.namespace());
    values.add(s.status().wireName());
    values.add(s.generation());
    values.add(s.image());
    values.add(s.engine());
    values.add(s.runtime());
    values.add(s.isolated());
    values.add(s.rootfs().wireName());
    values.add(s.sessionKey());
    values.add(Lines.ofList(s.secrets()));
    values.add(s.createdAt().toEpochMilli());
    changes(values, s);
    Sql.update(handle, INSERT, values.toArray());
  }

  /** What can change without a change of status. */
  static void changes(List<@Nullable Object> values, Sandbox s) {
    Sandbox.Volume volume = s.volume();
    values.add(s.limits().memory().bytes());
    values.add(s.limits().cpus());
    values.add(s.limits().pids());
    values.add(s.limits().disk().bytes());
    values.add(s.limits().openFiles());
    values.add(s.expiry().idleTimeout().toMillis());
    values.add(s.expiry().onIdle().wireName());
    values.add(s.expiry().maxLife().toMillis());
    values.add(s.expiry().atEnd().wireName());
    values.add(s.network().text());
    values.add(Lines.ofMap(s.envVars()));
    values.add(Lines.ofMap(s.metadata()));
    values.add(s.frozen());
    values.add(volume == null ? null : volume.id().value());
    values.add(volume == null ? null : volume.name());
    values.add(s.lastActivityAt().toEpochMilli());
    values.add(s.counters().execCount());
    values.add(s.counters().execTotalMillis());
    values.add(s.counters().bytesUploaded());
    values.add(s.counters().bytesDownloaded());
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
