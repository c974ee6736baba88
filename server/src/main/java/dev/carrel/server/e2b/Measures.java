package dev.carrel.server.e2b;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How busy sandboxes are: the processor time since the last look at each, or since it started when
 * nobody has looked yet. Those that nobody has looked at for longest are forgotten. Safe for many
 * threads.
 */
final class Measures {
  private static final int MAX = 10_000;

  /** Two looks closer together than this would measure the looking. */
  private static final Duration SHORTEST = Duration.ofMillis(20);

  private final Map<SandboxId, Look> last =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<SandboxId, Look> eldest) {
          return size() > MAX;
        }
      };

  /**
   * The share of one processor that it used, in percent.
   *
   * @param used nanoseconds of processor time since it started
   */
  synchronized double share(SandboxId id, Instant started, long used, Instant now) {
    Look before = last.get(id);
    // One that was started anew counts from nothing again.
    if (before == null || used < before.used || before.at.isBefore(started)) {
      before = new Look(started, 0, 0);
    }
    Duration between = Duration.between(before.at, now);
    if (between.compareTo(SHORTEST) < 0) {
      return before.share;
    }
    double share = 100.0 * (used - before.used) / between.toNanos();
    last.put(id, new Look(now, used, share));
    return share;
  }

  private record Look(Instant at, long used, double share) {}
}
