package dev.carrel.sdk;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a new sandbox should be; everything left out has the server's default. */
public record SandboxOptions(
    @Nullable String image,
    @Nullable String engine,
    @Nullable String isolation,
    @Nullable Long memoryMb,
    @Nullable Double cpuCores,
    @Nullable Long diskMb,
    @Nullable Integer pids,
    @Nullable Long idleTimeoutSeconds,
    @Nullable String onIdle,
    @Nullable Long maxLifeSeconds,
    @Nullable Boolean ephemeral,
    @Nullable Boolean isolated,
    @Nullable String volume,
    @Nullable String snapshotId,
    @Nullable String rootfs,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey,
    @Nullable String namespace,
    @Nullable NetworkPolicy network,
    List<String> secrets) {

  public SandboxOptions {
    envVars = Map.copyOf(envVars);
    metadata = Map.copyOf(metadata);
    secrets = List.copyOf(secrets);
  }

  public static SandboxOptions defaults() {
    return new SandboxOptions(
        null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
        Map.of(), Map.of(), null, null, null, List.of());
  }

  public SandboxOptions withImage(@Nullable String value) {
    return new SandboxOptions(
        value,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** By name, for example {@code native}. */
  public SandboxOptions withEngine(@Nullable String value) {
    return new SandboxOptions(
        image,
        value,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** The least strength to accept, for example {@code namespaces}. */
  public SandboxOptions withIsolation(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        value,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  public SandboxOptions withMemoryMb(@Nullable Long value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        value,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  public SandboxOptions withCpuCores(@Nullable Double value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        value,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  public SandboxOptions withDiskMb(@Nullable Long value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        value,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  public SandboxOptions withPids(@Nullable Integer value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        value,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** Stopped after this long without a call; zero means never. */
  public SandboxOptions withIdleTimeout(@Nullable Duration value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        value == null ? null : value.toSeconds(),
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** What happens when it was idle for long enough: stop, pause or destroy. */
  public SandboxOptions withOnIdle(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        value,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** Stopped when its machine has run for this long; zero means never. */
  public SandboxOptions withMaxLife(@Nullable Duration value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        value == null ? null : value.toSeconds(),
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** Files in memory, gone with the machine. */
  public SandboxOptions withEphemeral(@Nullable Boolean value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        value,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** Your volume to use as /workspace, by name; made when there is none. */
  public SandboxOptions withVolume(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        value,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** Begins with the files of a snapshot. */
  public SandboxOptions withSnapshotId(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        value,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /**
   * {@code read-only}, or {@code overlay}: commands are root inside and may change everything,
   * which stays in the sandbox's own volume.
   */
  public SandboxOptions withRootfs(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        value,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  public SandboxOptions withEnvVars(Map<String, String> value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        value,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  public SandboxOptions withMetadata(Map<String, String> value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        value,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** Whether its contexts start from scratch, never as a fork of a warm interpreter. */
  public SandboxOptions withIsolated(@Nullable Boolean value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        value,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        secrets);
  }

  /** The same key gives the same sandbox until it is deleted. */
  public SandboxOptions withSessionKey(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        value,
        namespace,
        network,
        secrets);
  }

  /** The label inside your tenant whose secrets and rules are its own. */
  public SandboxOptions withNamespace(@Nullable String value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        value,
        network,
        secrets);
  }

  /** What it may reach. */
  public SandboxOptions withNetwork(@Nullable NetworkPolicy value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        value,
        secrets);
  }

  /** Names of secrets of its namespace that all its processes get in their environment. */
  public SandboxOptions withSecrets(List<String> value) {
    return new SandboxOptions(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        onIdle,
        maxLifeSeconds,
        ephemeral,
        isolated,
        volume,
        snapshotId,
        rootfs,
        envVars,
        metadata,
        sessionKey,
        namespace,
        network,
        value);
  }
}
