package dev.carrel.control.sandbox;

import dev.carrel.spi.Isolation;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a caller asks for; null means the default of {@link SandboxSettings}.
 *
 * @param isolation the least strength to accept
 * @param sessionKey unique per tenant: the same key gives the same sandbox as long as it lives
 */
public record CreateSandbox(
    @Nullable String image,
    @Nullable String engine,
    Isolation.@Nullable Strength isolation,
    @Nullable Long memoryMb,
    @Nullable Double cpuCores,
    @Nullable Long diskMb,
    @Nullable Integer pids,
    @Nullable Long idleTimeoutSeconds,
    @Nullable Boolean networkEnabled,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey) {

  public CreateSandbox {
    envVars = Map.copyOf(envVars);
    metadata = Map.copyOf(metadata);
  }

  /** Everything by default. */
  public static CreateSandbox defaults() {
    return new CreateSandbox(
        null, null, null, null, null, null, null, null, null, Map.of(), Map.of(), null);
  }

  public CreateSandbox withImage(String newImage) {
    return new CreateSandbox(
        newImage,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withEngine(String newEngine) {
    return new CreateSandbox(
        image,
        newEngine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withLimits(
      @Nullable Long newMemoryMb,
      @Nullable Double newCpuCores,
      @Nullable Long newDiskMb,
      @Nullable Integer newPids) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        newMemoryMb,
        newCpuCores,
        newDiskMb,
        newPids,
        idleTimeoutSeconds,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withIdleTimeoutSeconds(long newIdleTimeoutSeconds) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        newIdleTimeoutSeconds,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withNetworkEnabled(boolean newNetworkEnabled) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        newNetworkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withEnvVars(Map<String, String> newEnvVars) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        networkEnabled,
        newEnvVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withSessionKey(String newSessionKey) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        memoryMb,
        cpuCores,
        diskMb,
        pids,
        idleTimeoutSeconds,
        networkEnabled,
        envVars,
        metadata,
        newSessionKey);
  }
}
