package dev.carrel.control.sandbox;

import java.time.Duration;

/**
 * How long the steps of a sandbox's life may take, and what ends it.
 *
 * @param startTimeout until a machine answers; then its sandbox has failed
 * @param stopGrace for processes to end by themselves before they are killed
 * @param maxLife of one machine, and what it gets when it asks for nothing; zero means for ever
 * @param warning how long before it ends by itself a sandbox is said to be about to
 * @param evictWhenFull whether the longest idle sandbox is stopped for a new one
 * @param orphanMinAge how long something without an owner is left alone
 * @param onShutdown what happens to sandboxes when the server ends in order
 * @param maxVolumeMbPerTenant of all volumes and snapshots of one tenant together
 */
public record LifeSettings(
    Duration startTimeout,
    Duration stopGrace,
    Duration maxLife,
    Duration warning,
    boolean evictWhenFull,
    Duration orphanMinAge,
    OnShutdown onShutdown,
    long maxVolumeMbPerTenant) {

  public static LifeSettings defaults() {
    return new LifeSettings(
        Duration.ofMinutes(1),
        Duration.ofSeconds(3),
        Duration.ZERO,
        Duration.ofMinutes(1),
        false,
        Duration.ofMinutes(5),
        OnShutdown.KEEP,
        1_048_576);
  }

  public LifeSettings withMaxLife(Duration newMaxLife) {
    return new LifeSettings(
        startTimeout,
        stopGrace,
        newMaxLife,
        warning,
        evictWhenFull,
        orphanMinAge,
        onShutdown,
        maxVolumeMbPerTenant);
  }

  public LifeSettings withEvictWhenFull(boolean newEvictWhenFull) {
    return new LifeSettings(
        startTimeout,
        stopGrace,
        maxLife,
        warning,
        newEvictWhenFull,
        orphanMinAge,
        onShutdown,
        maxVolumeMbPerTenant);
  }

  /** What becomes of running sandboxes when their server ends. */
  public enum OnShutdown {
    /** They run on, and the next server finds them. */
    KEEP,
    STOP
  }
}
