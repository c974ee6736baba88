package dev.carrel.sdk;

import java.util.Set;

/**
 * Sandboxes of one image that wait, started already, for their owner.
 *
 * @param idleCount how many wait
 * @param target how many should
 * @param provider the engine
 * @param languages interpreters that run already in each
 * @param hits creates that took one
 * @param misses creates that found none and started cold
 */
public record PoolInfo(
    String imageId,
    String imageName,
    int warmPoolMin,
    int warmPoolMax,
    int idleCount,
    int target,
    String provider,
    Set<String> languages,
    long hits,
    long misses) {
  public PoolInfo {
    languages = Set.copyOf(languages);
  }
}
