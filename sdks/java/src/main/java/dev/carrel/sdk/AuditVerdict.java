package dev.carrel.sdk;

import java.util.List;

/**
 * What looking at every record of a server found.
 *
 * @param intact whether all is as it was written
 * @param checkpoints signatures that agreed with the records
 */
public record AuditVerdict(
    boolean intact, long records, long first, long last, long checkpoints, List<Problem> problems) {

  /**
   * Something that is not as it was written.
   *
   * @param kind {@code changed}, {@code missing}, {@code truncated}, {@code rewritten} or {@code
   *     unsigned}
   */
  public record Problem(String kind, long sequence, String message) {}
}
