package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A sandbox as the server told it at one moment.
 *
 * @param status creating, running, stopped or failed
 * @param isolation what was really applied: none, namespaces or gvisor; null until it has started
 * @param failure why it is not running, if so
 */
public record SandboxInfo(
    String id,
    String status,
    String image,
    String engine,
    String runtime,
    @Nullable String isolation,
    List<Measure> isolationMeasures,
    String workspacePath,
    long memoryMb,
    double cpuCores,
    long diskMb,
    int pids,
    long idleTimeoutSeconds,
    boolean networkEnabled,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey,
    Instant createdAt,
    Instant lastActivityAt,
    @Nullable Instant stoppedAt,
    long execCount,
    long execTotalMs,
    long bytesUploaded,
    long bytesDownloaded,
    @Nullable Failure failure) {

  /** Why a sandbox is not running. */
  public record Failure(String cause, String message, String hint) {}
}
