package dev.carrel.control.event;

import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened.
 *
 * @param id grows from event to event, also from server to server
 * @param namespace empty when it is about none
 * @param kind a word such as {@code sandbox.stopped}
 * @param sandbox null when it is about none
 * @param details what else is known of it
 */
public record Event(
    long id,
    Instant at,
    String tenant,
    String namespace,
    String kind,
    @Nullable SandboxId sandbox,
    Map<String, String> details) {
  /** Told to a reader that was away for too long, in place of what is no longer kept. */
  public static final String MISSED = "events.missed";

  /** The last word to a reader that is too slow. */
  public static final String DROPPED = "events.dropped";

  public static final String SANDBOX_CREATED = "sandbox.created";
  public static final String SANDBOX_DESTROYED = "sandbox.destroyed";
  public static final String SANDBOX_RESTORED = "sandbox.restored";
  public static final String SNAPSHOT_CREATED = "snapshot.created";
  public static final String EXECUTION_STARTED = "execution.started";
  public static final String EXECUTION_COMPLETED = "execution.completed";
  public static final String EXECUTION_FAILED = "execution.failed";
  public static final String EXECUTION_TIMEOUT = "execution.timeout";
  public static final String SESSION_CREATED = "session.created";
  public static final String SESSION_KILLED = "session.killed";
  public static final String PACKAGE_INSTALLED = "package.installed";
  public static final String EGRESS_APPROVED = "egress.approved";
  public static final String SECRET_CANARY = "secret.canary";
  public static final String VAULT_ACCESSED = "vault.accessed";
  public static final String RESOURCE_EXCEEDED = "resource.exceeded";
  public static final String ARTIFACT_SIGNED = "artifact.signed";
  public static final String QUEUE_BACKPRESSURE = "queue.backpressure";
  public static final String SANDBOX_POLICY = "sandbox.policy";
  public static final String SKILL_ADDED = "skill.added";
  public static final String SKILL_UPDATED = "skill.updated";
  public static final String SKILL_DELETED = "skill.deleted";
  public static final String SKILL_INSTALLED = "skill.installed";

  public Event {
    details = Map.copyOf(details);
  }
}
