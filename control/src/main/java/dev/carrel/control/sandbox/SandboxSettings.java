package dev.carrel.control.sandbox;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Defaults and limits of sandboxes.
 *
 * @param defaultEngine {@code auto} takes the strongest usable engine that isolates
 * @param allowedEngines engines that a request or {@code defaultEngine} may name; {@code process}
 *     isolates nothing and is only ever used when it is named
 * @param images root folders by name, beside {@code host}
 * @param maxSandboxes starting, running and paused ones on this server
 * @param maxSandboxesPerTenant the same for one tenant
 * @param maxMemoryMb the most that one sandbox may ask for
 * @param stoppedRetention how long a stopped or failed sandbox stays listed
 * @param watchInterval how often machines are looked at for signs of death and idleness
 * @param life times and policies
 */
public record SandboxSettings(
    String defaultEngine,
    Set<String> allowedEngines,
    String defaultImage,
    Map<String, Path> images,
    long memoryMb,
    double cpuCores,
    long diskMb,
    int pids,
    int openFiles,
    Duration idleTimeout,
    Duration maxIdleTimeout,
    long maxMemoryMb,
    double maxCpuCores,
    long maxDiskMb,
    int maxPids,
    int maxSandboxes,
    int maxSandboxesPerTenant,
    Duration stoppedRetention,
    Duration watchInterval,
    LifeSettings life) {
  public static final String AUTO = "auto";
  public static final String HOST_IMAGE = "host";

  public SandboxSettings {
    allowedEngines = Set.copyOf(allowedEngines);
    images = Map.copyOf(images);
  }

  public static SandboxSettings defaults() {
    return new SandboxSettings(
        AUTO,
        Set.of("native", "crun", "runc", "runsc", "docker", "docker-runsc"),
        HOST_IMAGE,
        Map.of(),
        512,
        1,
        1024,
        512,
        4096,
        Duration.ofMinutes(30),
        Duration.ofDays(7),
        65_536,
        64,
        1_048_576,
        32_768,
        1000,
        200,
        Duration.ofDays(1),
        Duration.ofMillis(500),
        LifeSettings.defaults());
  }

  /** The same with what {@code change} does to it. */
  public SandboxSettings with(Consumer<Draft> change) {
    var draft = new Draft(this);
    change.accept(draft);
    return draft.settings();
  }

  public SandboxSettings withEngines(String newDefaultEngine, Set<String> newAllowedEngines) {
    return with(
        draft -> {
          draft.defaultEngine = newDefaultEngine;
          draft.allowedEngines = newAllowedEngines;
        });
  }

  public SandboxSettings withMaxSandboxes(int newMaxSandboxes, int newMaxSandboxesPerTenant) {
    return with(
        draft -> {
          draft.maxSandboxes = newMaxSandboxes;
          draft.maxSandboxesPerTenant = newMaxSandboxesPerTenant;
        });
  }

  public SandboxSettings withWatch(Duration newStoppedRetention, Duration newWatchInterval) {
    return with(
        draft -> {
          draft.stoppedRetention = newStoppedRetention;
          draft.watchInterval = newWatchInterval;
        });
  }

  public SandboxSettings withImages(Map<String, Path> newImages) {
    return with(draft -> draft.images = newImages);
  }

  public SandboxSettings withLife(LifeSettings newLife) {
    return with(draft -> draft.life = newLife);
  }

  /** Settings while they are being changed. For one thread. */
  public static final class Draft {
    public String defaultEngine;
    public Set<String> allowedEngines;
    public String defaultImage;
    public Map<String, Path> images;
    public long memoryMb;
    public double cpuCores;
    public long diskMb;
    public int pids;
    public int openFiles;
    public Duration idleTimeout;
    public Duration maxIdleTimeout;
    public long maxMemoryMb;
    public double maxCpuCores;
    public long maxDiskMb;
    public int maxPids;
    public int maxSandboxes;
    public int maxSandboxesPerTenant;
    public Duration stoppedRetention;
    public Duration watchInterval;
    public LifeSettings life;

    private Draft(SandboxSettings from) {
      defaultEngine = from.defaultEngine;
      allowedEngines = from.allowedEngines;
      defaultImage = from.defaultImage;
      images = from.images;
      memoryMb = from.memoryMb;
      cpuCores = from.cpuCores;
      diskMb = from.diskMb;
      pids = from.pids;
      openFiles = from.openFiles;
      idleTimeout = from.idleTimeout;
      maxIdleTimeout = from.maxIdleTimeout;
      maxMemoryMb = from.maxMemoryMb;
      maxCpuCores = from.maxCpuCores;
      maxDiskMb = from.maxDiskMb;
      maxPids = from.maxPids;
      maxSandboxes = from.maxSandboxes;
      maxSandboxesPerTenant = from.maxSandboxesPerTenant;
      stoppedRetention = from.stoppedRetention;
      watchInterval = from.watchInterval;
      life = from.life;
    }

    private SandboxSettings settings() {
      return new SandboxSettings(
          defaultEngine,
          allowedEngines,
          defaultImage,
          images,
          memoryMb,
          cpuCores,
          diskMb,
          pids,
          openFiles,
          idleTimeout,
          maxIdleTimeout,
          maxMemoryMb,
          maxCpuCores,
          maxDiskMb,
          maxPids,
          maxSandboxes,
          maxSandboxesPerTenant,
          stoppedRetention,
          watchInterval,
          life);
    }
  }
}
