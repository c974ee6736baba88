package dev.carrel.spi;

import java.time.Duration;

/**
 * How long an engine uses one warm interpreter for {@link Machine#fork}.
 *
 * @param maxForks after which it is replaced: its forks share the seed of hash() and their layout
 *     of memory
 * @param maxAge after which it is replaced
 * @param maxIdle without a fork, after which it ends
 */
public record WarmSettings(int maxForks, Duration maxAge, Duration maxIdle) {
  public static WarmSettings defaults() {
    return new WarmSettings(1000, Duration.ofHours(1), Duration.ofMinutes(10));
  }
}
