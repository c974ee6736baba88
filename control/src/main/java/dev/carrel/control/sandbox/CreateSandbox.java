package dev.carrel.control.sandbox;

import dev.carrel.egress.Policy;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SnapshotId;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a caller asks for; null means the default of {@link SandboxSettings}.
 *
 * @param isolation the least strength to accept
 * @param isolated true: nothing but its own guest ever starts a process in it, no warm
 *     interpreter's fork either
 * @param sessionKey unique per tenant: the same key gives the same sandbox as long as it is there
 * @param namespace the label inside the tenant whose secrets and rules are its own
 * @param secrets names of those that all its processes get
 */
public record CreateSandbox(
    @Nullable String image,
    @Nullable String engine,
    Isolation.@Nullable Strength isolation,
    @Nullable Boolean isolated,
    Size size,
    Expiry expiry,
    Storage storage,
    Network network,
    Map<String, String> envVars,
    Map<String, String> metadata,
    @Nullable String sessionKey,
    @Nullable String namespace,
    List<String> secrets) {

  public CreateSandbox {
    envVars = Map.copyOf(envVars);
    metadata = Map.copyOf(metadata);
    secrets = List.copyOf(secrets);
    if (namespace != null) {
      NamedVolumes.checkName("namespace", namespace);
    }
  }

  /** Everything by default. */
  public static CreateSandbox defaults() {
    return new CreateSandbox(
        null,
        null,
        null,
        null,
        new Size(null, null, null, null),
        new Expiry(null, null, null),
        Storage.DEFAULT,
        Network.DEFAULT,
        Map.of(),
        Map.of(),
        null,
        null,
        List.of());
  }

  public CreateSandbox withImage(String newImage) {
    return new CreateSandbox(
        newImage,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withEngine(String newEngine) {
    return new CreateSandbox(
        image,
        newEngine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withIsolated(boolean newIsolated) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        newIsolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withSize(Size newSize) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        newSize,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withExpiry(Expiry newExpiry) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        newExpiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withStorage(Storage newStorage) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        newStorage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withNetwork(Network newNetwork) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        newNetwork,
        envVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withEnvVars(Map<String, String> newEnvVars) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        newEnvVars,
        metadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withMetadata(Map<String, String> newMetadata) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        newMetadata,
        sessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withSessionKey(String newSessionKey) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        newSessionKey,
        namespace,
        secrets);
  }

  public CreateSandbox withNamespace(String newNamespace) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        newNamespace,
        secrets);
  }

  public CreateSandbox withSecrets(String... newSecrets) {
    return new CreateSandbox(
        image,
        engine,
        isolation,
        isolated,
        size,
        expiry,
        storage,
        network,
        envVars,
        metadata,
        sessionKey,
        namespace,
        List.of(newSecrets));
  }

  /** Limits. */
  public record Size(
      @Nullable Long memoryMb,
      @Nullable Double cpuCores,
      @Nullable Long diskMb,
      @Nullable Integer pids) {}

  /** When it ends by itself, and how. */
  public record Expiry(
      @Nullable Long idleTimeoutSeconds,
      @Nullable OnIdle onIdle,
      @Nullable Long maxLifeSeconds,
      @Nullable OnIdle atEnd) {
    public Expiry(
        @Nullable Long idleTimeoutSeconds, @Nullable OnIdle onIdle, @Nullable Long maxLifeSeconds) {
      this(idleTimeoutSeconds, onIdle, maxLifeSeconds, null);
    }

    public static Expiry idle(long seconds, @Nullable OnIdle then) {
      return new Expiry(seconds, then, null);
    }
  }

  /**
   * What it may reach.
   *
   * @param enabled without a policy: the operator's usual one, or nothing
   */
  public record Network(@Nullable Boolean enabled, @Nullable Policy policy) {
    public static final Network DEFAULT = new Network(null, null);

    public static Network of(Policy policy) {
      return new Network(null, policy);
    }
  }

  /**
   * Where its files are.
   *
   * @param ephemeral true: in memory, gone with the machine
   * @param volume the tenant's volume to use, by name; made when there is none
   * @param snapshot what to begin with; null: nothing
   * @param rootfs what it may do with its root; null: as the snapshot's had it, else look at it
   */
  public record Storage(
      @Nullable Boolean ephemeral,
      @Nullable String volume,
      @Nullable SnapshotId snapshot,
      @Nullable Rootfs rootfs) {
    public static final Storage DEFAULT = new Storage(null, null, null);
    public static final Storage EPHEMERAL = new Storage(true, null, null);

    public Storage {
      if (volume != null) {
        NamedVolumes.checkName("volume", volume);
        if (snapshot != null) {
          throw SandboxException.invalid(
              "volume", "a sandbox begins with a volume or with a snapshot, not with both");
        }
      }
      if (Boolean.TRUE.equals(ephemeral) && (volume != null || snapshot != null)) {
        throw SandboxException.invalid(
            "ephemeral", "files in memory are neither in a volume nor from a snapshot");
      }
      if (rootfs == Rootfs.OVERLAY && (Boolean.TRUE.equals(ephemeral) || volume != null)) {
        throw SandboxException.invalid(
            "rootfs",
            "the changes of a root are in the sandbox's own volume: leave ephemeral and volume"
                + " out");
      }
    }

    public Storage(
        @Nullable Boolean ephemeral, @Nullable String volume, @Nullable SnapshotId snapshot) {
      this(ephemeral, volume, snapshot, null);
    }
  }
}
