package dev.carrel.control.audit;

import java.util.List;
import java.util.Locale;

/**
 * What looking at the whole chain found.
 *
 * @param first the first record there; what was before was pruned
 * @param checkpoints signed ones that were compared
 * @param problems none: the chain is as it was written; at most a hundred
 */
public record AuditVerdict(
    long records, long first, long last, long checkpoints, List<Problem> problems) {
  public AuditVerdict {
    problems = List.copyOf(problems);
  }

  public boolean intact() {
    return problems.isEmpty();
  }

  /**
   * Something that is not as it was written.
   *
   * @param sequence where
   */
  public record Problem(Kind kind, long sequence, String message) {}

  /** In what way. */
  public enum Kind {
    /** A record is not what its hash covers, or not in its place. */
    CHANGED,
    /** Records between two others are gone. */
    MISSING,
    /** The chain ends before the record that it is known to have had. */
    TRUNCATED,
    /** A checkpoint and the chain do not agree. */
    REWRITTEN,
    /** A checkpoint was not signed with this server's key, or is gone. */
    UNSIGNED;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
