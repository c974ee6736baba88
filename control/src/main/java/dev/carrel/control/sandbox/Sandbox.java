package dev.carrel.control.sandbox;

import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A sandbox as its owner sees it.
 *
 * @param owner the principal that created it
 * @param runtime what the engine runs machines with, for example {@code namespaces} or {@code
 *     runsc}
 * @param isolation what was really applied; null until it has started
 * @param limits in force; the asked ones until it has started
 * @param idleTimeout zero means never
 * @param generation grows with each change of status; guards concurrent changes
 */
public record Sandbox(
    SandboxId id,
    String tenant,
    String owner,
    SandboxStatus status,
    long generation,
    String image,
    String engine,
    String runtime,
    @Nullable Isolation isolation,
    Limits limits,
    Duration idleTimeout,
    boolean networkEnabled,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey,
    Instant createdAt,
    Instant lastActivityAt,
    @Nullable Instant stoppedAt,
    Counters counters,
    @Nullable Failure failure) {

  /** Where every sandbox has its files. */
  public static final String WORKSPACE = "/workspace";

  public Sandbox {
    envVars = Map.copyOf(envVars);
    metadata = Map.copyOf(metadata);
  }

  /** In another status; the generation moves on as the row's does. */
  Sandbox withStatus(
      SandboxStatus newStatus, @Nullable Instant newStoppedAt, @Nullable Failure newFailure) {
    return new Sandbox(
        id,
        tenant,
        owner,
        newStatus,
        generation + 1,
        image,
        engine,
        runtime,
        isolation,
        limits,
        idleTimeout,
        networkEnabled,
        envVars,
        metadata,
        sessionKey,
        createdAt,
        lastActivityAt,
        newStoppedAt,
        counters,
        newFailure);
  }

  /** As it was really started. */
  Sandbox withApplied(Isolation newIsolation, Limits newLimits) {
    return new Sandbox(
        id,
        tenant,
        owner,
        status,
        generation,
        image,
        engine,
        runtime,
        newIsolation,
        newLimits,
        idleTimeout,
        networkEnabled,
        envVars,
        metadata,
        sessionKey,
        createdAt,
        lastActivityAt,
        stoppedAt,
        counters,
        failure);
  }

  /** With newer counts. */
  Sandbox withActivity(Instant newLastActivityAt, Counters newCounters) {
    return new Sandbox(
        id,
        tenant,
        owner,
        status,
        generation,
        image,
        engine,
        runtime,
        isolation,
        limits,
        idleTimeout,
        networkEnabled,
        envVars,
        metadata,
        sessionKey,
        createdAt,
        newLastActivityAt,
        stoppedAt,
        newCounters,
        failure);
  }

  /** With what a PATCH may change. */
  Sandbox withConfiguration(
      Limits newLimits,
      Duration newIdleTimeout,
      Map<String, String> newEnvVars,
      Map<String, String> newMetadata) {
    return new Sandbox(
        id,
        tenant,
        owner,
        status,
        generation,
        image,
        engine,
        runtime,
        isolation,
        newLimits,
        newIdleTimeout,
        networkEnabled,
        newEnvVars,
        newMetadata,
        sessionKey,
        createdAt,
        lastActivityAt,
        stoppedAt,
        counters,
        failure);
  }

  /** What has been done with a sandbox. */
  public record Counters(
      long execCount, long execTotalMillis, long bytesUploaded, long bytesDownloaded) {
    public static final Counters ZERO = new Counters(0, 0, 0, 0);

    Counters plus(Counters other) {
      return new Counters(
          execCount + other.execCount,
          execTotalMillis + other.execTotalMillis,
          bytesUploaded + other.bytesUploaded,
          bytesDownloaded + other.bytesDownloaded);
    }
  }
}
