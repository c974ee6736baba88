package dev.carrel.control.sandbox;

import dev.carrel.spi.Isolation;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a caller asks for; null means the default of {@link SandboxSettings}.
 *
 * @param isolation the least strength to accept
 * @param sessionKey unique per tenant: the same key gives the same sandbox as long as it is there
 */
public record CreateSandbox(
    @Nullable String image,
    @Nullable String engine,
    Isolation.@Nullable Strength isolation,
    Size size,
    Expiry expiry,
    Storage storage,
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
        null,
        null,
        null,
        new Size(null, null, null, null),
        new Expiry(null, null, null),
        new Storage(null),
        null,
        Map.of(),
        Map.of(),
        null);
  }

  public CreateSandbox withImage(String newImage) {
    return new CreateSandbox(
        newImage,
        engine,
        isolation,
        size,
        expiry,
        storage,
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
        size,
        expiry,
        storage,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withSize(Size newSize) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        newSize,
        expiry,
        storage,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withExpiry(Expiry newExpiry) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        size,
        newExpiry,
        storage,
        networkEnabled,
        envVars,
        metadata,
        sessionKey);
  }

  public CreateSandbox withStorage(Storage newStorage) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        size,
        expiry,
        newStorage,
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
        size,
        expiry,
        storage,
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
        size,
        expiry,
        storage,
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
        size,
        expiry,
        storage,
        networkEnabled,
        envVars,
        metadata,
        newSessionKey);
  }

  /** Limits. */
  public record Size(
      @Nullable Long memoryMb,
      @Nullable Double cpuCores,
      @Nullable Long diskMb,
      @Nullable Integer pids) {}

  /** When it ends by itself, and how. */
  public record Expiry(
      @Nullable Long idleTimeoutSeconds, @Nullable OnIdle onIdle, @Nullable Long maxLifeSeconds) {
    public static Expiry idle(long seconds, @Nullable OnIdle then) {
      return new Expiry(seconds, then, null);
    }
  }

  /**
   * Where its files are.
   *
   * @param ephemeral true: in memory, gone with the machine
   */
  public record Storage(@Nullable Boolean ephemeral) {}
}
