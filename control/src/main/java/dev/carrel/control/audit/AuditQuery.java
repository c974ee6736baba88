package dev.carrel.control.audit;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Which records are wanted.
 *
 * @param action the whole word or its first part, such as {@code exec}
 * @param before only records before this one, newest first; null with {@code after} null: the
 *     newest
 * @param after only records after this one, oldest first
 */
public record AuditQuery(
    @Nullable String namespace,
    @Nullable SandboxId sandbox,
    @Nullable String action,
    @Nullable Instant since,
    @Nullable Long before,
    @Nullable Long after,
    int limit) {
  public static final int MAX_LIMIT = 1000;

  public AuditQuery {
    if (limit < 1 || limit > MAX_LIMIT) {
      throw SandboxException.invalid("limit", "must be between 1 and " + MAX_LIMIT);
    }
    if (before != null && after != null) {
      throw SandboxException.invalid("before", "cannot go with after");
    }
  }

  /** The newest ones. */
  public static AuditQuery newest(int limit) {
    return new AuditQuery(null, null, null, null, null, null, limit);
  }

  public AuditQuery withAfter(long sequence) {
    return new AuditQuery(namespace, sandbox, action, since, null, sequence, limit);
  }

  public AuditQuery withLimit(int newLimit) {
    return new AuditQuery(namespace, sandbox, action, since, before, after, newLimit);
  }
}
