package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A sandbox as the server told it at one moment.
 *
 * @param status creating, running, paused, stopped or failed
 * @param persistent whether its files outlive its machine
 * @param userId the tenant
 * @param userName who created it
 * @param containerId only with engines that make containers
 * @param volumeName the id of its volume; null where /workspace is in memory
 * @param volume the name of your volume that it uses, if so
 * @param startedAt when its present or last machine started
 * @param removalAt when it goes with its files, unless it is started or changed before; null unless
 *     it has ended
 * @param skills what it was given, by name
 * @param isolation what was really applied: none, namespaces or gvisor; null until it has started
 * @param rootfs read-only, or overlay: commands are root inside and may change it
 * @param secrets names of those that all its processes get
 * @param frozen why it stands still until it is resumed; null: it does not
 * @param budget what it may use up in all; null: no limit of its own
 * @param packages what was installed at its making; null in every later answer
 * @param failure why it is not running, if so
 */
public record SandboxInfo(
    String id,
    String status,
    String image,
    String engine,
    String runtime,
    String userId,
    String userName,
    @Nullable String containerId,
    @Nullable String volumeName,
    List<InstalledSkill> skills,
    @Nullable String isolation,
    List<Measure> isolationMeasures,
    String workspacePath,
    String namespace,
    boolean persistent,
    @Nullable String volume,
    long memoryMb,
    double cpuCores,
    long diskMb,
    int pids,
    long idleTimeoutSeconds,
    String onIdle,
    long maxLifeSeconds,
    boolean networkEnabled,
    NetworkPolicy network,
    boolean isolated,
    String rootfs,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey,
    List<String> secrets,
    @Nullable String frozen,
    Instant createdAt,
    Instant lastActivityAt,
    @Nullable Instant startedAt,
    @Nullable Instant stoppedAt,
    @Nullable Instant removalAt,
    long execCount,
    long execTotalMs,
    long bytesUploaded,
    long bytesDownloaded,
    @Nullable BudgetInfo budget,
    @Nullable List<Installation> packages,
    @Nullable Failure failure) {

  /** Why a sandbox is not running. */
  public record Failure(String cause, String message, String hint) {}
}
