package dev.carrel.control.audit;

import dev.carrel.spi.SandboxException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;

/**
 * An entry in its place in the chain.
 *
 * @param sequence grows by one from record to record
 * @param at to the microsecond
 * @param hash in hex, over this record and the hash of the one before
 */
public record AuditRecord(long sequence, Instant at, AuditEntry entry, String hash) {

  static AuditRecord of(StoredRecord stored) {
    return new AuditRecord(
        stored.sequence(),
        Instant.EPOCH.plus(stored.atMicros(), ChronoUnit.MICROS),
        entry(stored),
        HexFormat.of().formatHex(stored.hash()));
  }

  // Somebody else wrote it, and the others are to be read all the same.
  private static AuditEntry entry(StoredRecord stored) {
    try {
      return Body.entry(stored);
    } catch (IllegalArgumentException | SandboxException e) {
      return AuditEntry.of(
          new AuditEntry.Who(stored.tenant(), "", stored.namespace(), null),
          "audit.unreadable",
          AuditEntry.Outcome.of("tampered"));
    }
  }
}
