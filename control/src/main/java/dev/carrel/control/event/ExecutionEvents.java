package dev.carrel.control.event;

import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Tells of commands and cells. */
public final class ExecutionEvents {
  private final Events events;

  public ExecutionEvents(Events events) {
    this.events = events;
  }

  public void started(Where where, Map<String, String> what) {
    events.tell(where.tenant, where.namespace, Event.EXECUTION_STARTED, where.sandbox, what);
  }

  /**
   * @param success whether it did what it was asked to
   */
  public void ended(
      Where where, Map<String, String> what, Cause cause, boolean success, Duration duration) {
    var details = new HashMap<>(what);
    details.put("cause", cause.name().toLowerCase(Locale.ROOT));
    details.put("duration_ms", String.valueOf(duration.toMillis()));
    String kind =
        switch (cause) {
          case TIMED_OUT -> Event.EXECUTION_TIMEOUT;
          case RETURNED -> success ? Event.EXECUTION_COMPLETED : Event.EXECUTION_FAILED;
          case NOT_STARTED, KILLED, SIGNALLED, CRASHED, OUT_OF_MEMORY, PIDS_LIMIT, SANDBOX_LOST ->
              Event.EXECUTION_FAILED;
        };
    if (cause == Cause.OUT_OF_MEMORY || cause == Cause.PIDS_LIMIT) {
      events.tell(where.tenant, where.namespace, Event.RESOURCE_EXCEEDED, where.sandbox, details);
    }
    events.tell(where.tenant, where.namespace, kind, where.sandbox, details);
  }

  /** The sandbox that it happens in. */
  public record Where(String tenant, String namespace, SandboxId sandbox) {}
}
