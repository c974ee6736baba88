package dev.carrel.control.event;

import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened.
 *
 * @param id grows from event to event, also from server to server
 * @param kind a word such as {@code sandbox.stopped}
 * @param sandbox null when it is about none
 * @param details what else is known of it
 */
public record Event(
    long id,
    Instant at,
    String tenant,
    String kind,
    @Nullable SandboxId sandbox,
    Map<String, String> details) {
  /** Told to a reader that was away for too long, in place of what is no longer kept. */
  public static final String MISSED = "events.missed";

  public Event {
    details = Map.copyOf(details);
  }
}
