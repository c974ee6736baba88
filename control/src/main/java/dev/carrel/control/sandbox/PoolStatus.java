package dev.carrel.control.sandbox;

import java.util.Set;

/**
 * A pool as it is now.
 *
 * @param idle boxes that wait to be taken
 * @param target how many should
 * @param hits creates that took one
 * @param misses creates that found none and started cold
 */
public record PoolStatus(
    String image,
    String engine,
    int min,
    int max,
    Set<String> languages,
    int idle,
    int target,
    long hits,
    long misses) {
  public PoolStatus {
    languages = Set.copyOf(languages);
  }
}
