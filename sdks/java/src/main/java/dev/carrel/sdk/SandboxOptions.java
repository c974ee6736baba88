package dev.carrel.sdk;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
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
    List<String> secrets,
    @Nullable Budget budget,
    List<Install> packages) {

  /**
   * What a sandbox may use up in all; null is no limit.
   *
   * @param egressBytes both ways through the proxy
   * @param executions commands and cells
   */
  public record Budget(
      @Nullable Long cpuSeconds, @Nullable Long egressBytes, @Nullable Long executions) {}

  /**
   * Packages to install before the sandbox is handed over.
   *
   * @param manager pip, npm or r
   * @param scripts whether packages may run code of their own while they are installed
   */
  public record Install(String manager, List<String> packages, boolean scripts) {
    public Install {
      packages = List.copyOf(packages);
    }
  }

  public SandboxOptions {
    envVars = Map.copyOf(envVars);
    metadata = Map.copyOf(metadata);
    secrets = List.copyOf(secrets);
    packages = List.copyOf(packages);
  }

  public static SandboxOptions defaults() {
    return new Draft().options();
  }

  public SandboxOptions withImage(@Nullable String value) {
    return with(draft -> draft.image = value);
  }

  /** By name, for example {@code native}. */
  public SandboxOptions withEngine(@Nullable String value) {
    return with(draft -> draft.engine = value);
  }

  /** The least strength to accept, for example {@code namespaces}. */
  public SandboxOptions withIsolation(@Nullable String value) {
    return with(draft -> draft.isolation = value);
  }

  public SandboxOptions withMemoryMb(@Nullable Long value) {
    return with(draft -> draft.memoryMb = value);
  }

  public SandboxOptions withCpuCores(@Nullable Double value) {
    return with(draft -> draft.cpuCores = value);
  }

  public SandboxOptions withDiskMb(@Nullable Long value) {
    return with(draft -> draft.diskMb = value);
  }

  public SandboxOptions withPids(@Nullable Integer value) {
    return with(draft -> draft.pids = value);
  }

  /** Stopped after this long without a call; zero means never. */
  public SandboxOptions withIdleTimeout(@Nullable Duration value) {
    return with(draft -> draft.idleTimeoutSeconds = value == null ? null : value.toSeconds());
  }

  /** What happens when it was idle for long enough: stop, pause or destroy. */
  public SandboxOptions withOnIdle(@Nullable String value) {
    return with(draft -> draft.onIdle = value);
  }

  /** Stopped when its machine has run for this long; zero means never. */
  public SandboxOptions withMaxLife(@Nullable Duration value) {
    return with(draft -> draft.maxLifeSeconds = value == null ? null : value.toSeconds());
  }

  /** Files in memory, gone with the machine. */
  public SandboxOptions withEphemeral(@Nullable Boolean value) {
    return with(draft -> draft.ephemeral = value);
  }

  /** Your volume to use as /workspace, by name; made when there is none. */
  public SandboxOptions withVolume(@Nullable String value) {
    return with(draft -> draft.volume = value);
  }

  /** Begins with the files of a snapshot. */
  public SandboxOptions withSnapshotId(@Nullable String value) {
    return with(draft -> draft.snapshotId = value);
  }

  /**
   * {@code read-only}, or {@code overlay}: commands are root inside and may change everything,
   * which stays in the sandbox's own volume.
   */
  public SandboxOptions withRootfs(@Nullable String value) {
    return with(draft -> draft.rootfs = value);
  }

  public SandboxOptions withEnvVars(Map<String, String> value) {
    return with(draft -> draft.envVars = value);
  }

  public SandboxOptions withMetadata(Map<String, String> value) {
    return with(draft -> draft.metadata = value);
  }

  /** Whether its contexts start from scratch, never as a fork of a warm interpreter. */
  public SandboxOptions withIsolated(@Nullable Boolean value) {
    return with(draft -> draft.isolated = value);
  }

  /** The same key gives the same sandbox until it is deleted. */
  public SandboxOptions withSessionKey(@Nullable String value) {
    return with(draft -> draft.sessionKey = value);
  }

  /** The label inside your tenant whose secrets and rules are its own. */
  public SandboxOptions withNamespace(@Nullable String value) {
    return with(draft -> draft.namespace = value);
  }

  /** What it may reach. */
  public SandboxOptions withNetwork(@Nullable NetworkPolicy value) {
    return with(draft -> draft.network = value);
  }

  /** Names of secrets of its namespace that all its processes get in their environment. */
  public SandboxOptions withSecrets(List<String> value) {
    return with(draft -> draft.secrets = value);
  }

  /** What it may use up in all, from its first moment on. */
  public SandboxOptions withBudget(@Nullable Budget value) {
    return with(draft -> draft.budget = value);
  }

  /** Installed before it is handed over, through its own policy. */
  public SandboxOptions withPackages(List<Install> value) {
    return with(draft -> draft.packages = value);
  }

  private SandboxOptions with(Consumer<Draft> change) {
    var draft = new Draft(this);
    change.accept(draft);
    return draft.options();
  }

  /** Options being changed, so that each change names one of them. */
  private static final class Draft {
    private @Nullable String image;
    private @Nullable String engine;
    private @Nullable String isolation;
    private @Nullable Long memoryMb;
    private @Nullable Double cpuCores;
    private @Nullable Long diskMb;
    private @Nullable Integer pids;
    private @Nullable Long idleTimeoutSeconds;
    private @Nullable String onIdle;
    private @Nullable Long maxLifeSeconds;
    private @Nullable Boolean ephemeral;
    private @Nullable Boolean isolated;
    private @Nullable String volume;
    private @Nullable String snapshotId;
    private @Nullable String rootfs;
    private Map<String, String> envVars = Map.of();
    private Map<String, String> metadata = Map.of();
    private @Nullable String sessionKey;
    private @Nullable String namespace;
    private @Nullable NetworkPolicy network;
    private List<String> secrets = List.of();
    private @Nullable Budget budget;
    private List<Install> packages = List.of();

    Draft() {}

    Draft(SandboxOptions from) {
      image = from.image;
      engine = from.engine;
      isolation = from.isolation;
      memoryMb = from.memoryMb;
      cpuCores = from.cpuCores;
      diskMb = from.diskMb;
      pids = from.pids;
      idleTimeoutSeconds = from.idleTimeoutSeconds;
      onIdle = from.onIdle;
      maxLifeSeconds = from.maxLifeSeconds;
      ephemeral = from.ephemeral;
      isolated = from.isolated;
      volume = from.volume;
      snapshotId = from.snapshotId;
      rootfs = from.rootfs;
      envVars = from.envVars;
      metadata = from.metadata;
      sessionKey = from.sessionKey;
      namespace = from.namespace;
      network = from.network;
      secrets = from.secrets;
      budget = from.budget;
      packages = from.packages;
    }

    SandboxOptions options() {
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
          secrets,
          budget,
          packages);
    }
  }
}
