package dev.carrel.control.audit;

import dev.carrel.spi.DataSize;
import java.time.Duration;

/**
 * How much is recorded and for how long.
 *
 * @param enabled whether anything is
 * @param outputChars kept of each of an execution's streams; the middle is cut out
 * @param checkpointRecords records after which the chain is signed
 * @param checkpointInterval the longest that a record waits for that
 * @param maxAge records older than this are removed; zero: never
 * @param maxSize of all records together; the oldest go first
 */
public record AuditSettings(
    boolean enabled,
    int outputChars,
    int checkpointRecords,
    Duration checkpointInterval,
    Duration maxAge,
    DataSize maxSize) {

  public static AuditSettings defaults() {
    return new AuditSettings(
        true, 1024, 1000, Duration.ofSeconds(10), Duration.ofDays(365), DataSize.ofMebibytes(4096));
  }

  public AuditSettings withCheckpoints(int records, Duration interval) {
    return new AuditSettings(enabled, outputChars, records, interval, maxAge, maxSize);
  }

  public AuditSettings withRetention(Duration newMaxAge, DataSize newMaxSize) {
    return new AuditSettings(
        enabled, outputChars, checkpointRecords, checkpointInterval, newMaxAge, newMaxSize);
  }
}
