package dev.carrel.sdk;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What happens to sandboxes, as it happens. One thread reads, any may close. */
public final class News implements AutoCloseable {
  private final EventStream events;

  News(EventStream events) {
    this.events = events;
  }

  /** Waits for the next event; empty once closed. */
  public Optional<Event> next() {
    return events.next().map(event -> event.as(Event.class));
  }

  @Override
  public void close() {
    events.close();
  }

  /**
   * Something that happened.
   *
   * @param id to go on after it, with {@link Carrel#news(Long)}
   * @param kind for example {@code sandbox.stopped}, or {@code events.missed} after a long absence
   * @param details what else is known, for example {@code cause}
   */
  public record Event(
      long id, Instant at, String kind, @Nullable String sandboxId, Map<String, String> details) {}
}
