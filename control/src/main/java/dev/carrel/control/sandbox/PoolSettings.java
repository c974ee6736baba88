package dev.carrel.control.sandbox;

import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which sandboxes are made ahead of need.
 *
 * @param pools one for each image that somebody wants one for
 * @param ahead how many boxes wait at most, of any other image, while sandboxes of it are made one
 *     after the other; 0: none
 * @param maxAge an older box is replaced by a fresh one
 * @param checkInterval how often each box has to answer
 */
public record PoolSettings(List<Pool> pools, int ahead, Duration maxAge, Duration checkInterval) {
  public static final int MOST_AHEAD = 100;

  public PoolSettings {
    pools = List.copyOf(pools);
  }

  public static PoolSettings defaults() {
    return new PoolSettings(List.of(), 8, Duration.ofHours(1), Duration.ofSeconds(10));
  }

  public PoolSettings withPools(List<Pool> newPools) {
    return new PoolSettings(newPools, ahead, maxAge, checkInterval);
  }

  public PoolSettings withAhead(int newAhead) {
    return new PoolSettings(pools, newAhead, maxAge, checkInterval);
  }

  /**
   * The pool of one image on one engine.
   *
   * @param engine null: the default one
   * @param min boxes that wait in quiet times
   * @param max boxes that may wait when many are taken
   * @param languages interpreters that have started already in each
   */
  public record Pool(
      String image, @Nullable String engine, int min, int max, Set<Language> languages) {
    private static final int MOST = 10_000;

    public Pool {
      languages = Set.copyOf(languages);
      if (min < 0 || max < Math.max(min, 1) || max > MOST) {
        throw SandboxException.invalid(
            "pool.sizes", "%s must be MIN-MAX with 0 ≤ MIN ≤ MAX ≤ %d".formatted(image, MOST));
      }
    }
  }
}
