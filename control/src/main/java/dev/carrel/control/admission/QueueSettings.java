package dev.carrel.control.admission;

import java.time.Duration;

/**
 * How much goes on at once on this server.
 *
 * @param maxCreates sandboxes being made
 * @param maxExecutions commands and cells that a caller waits for; background commands and
 *     terminals count only while they start
 * @param maxWaiting requests in each line; the next one is refused
 * @param maxWait for a place; a request with a shorter timeout waits no longer than that
 */
public record QueueSettings(int maxCreates, int maxExecutions, int maxWaiting, Duration maxWait) {
  private static final int CREATES_PER_CORE = 4;

  public static QueueSettings defaults() {
    return new QueueSettings(
        CREATES_PER_CORE * Runtime.getRuntime().availableProcessors(),
        256,
        1000,
        Duration.ofMinutes(1));
  }

  public QueueSettings withMaxCreates(int newMaxCreates) {
    return new QueueSettings(newMaxCreates, maxExecutions, maxWaiting, maxWait);
  }

  public QueueSettings withMaxExecutions(int newMaxExecutions) {
    return new QueueSettings(maxCreates, newMaxExecutions, maxWaiting, maxWait);
  }

  public QueueSettings withMaxWaiting(int newMaxWaiting) {
    return new QueueSettings(maxCreates, maxExecutions, newMaxWaiting, maxWait);
  }
}
