package dev.carrel.sdk;

import java.time.Instant;
import java.util.LinkedHashMap;
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
   * @param namespace empty when it is about none
   * @param kind for example {@code sandbox.stopped}, or {@code events.missed} after a long absence
   * @param details what else is known, for example {@code cause}
   */
  public record Event(
      long id,
      Instant at,
      String kind,
      String namespace,
      @Nullable String sandboxId,
      Map<String, String> details) {}

  /**
   * Which events are wanted; what is null does not matter.
   *
   * @param type whole words or their first part, with commas
   */
  public record Filter(
      @Nullable String namespace, @Nullable String sandbox, @Nullable String type) {
    public static Filter all() {
      return new Filter(null, null, null);
    }

    Map<String, String> parameters() {
      var parameters = new LinkedHashMap<String, String>();
      put(parameters, "namespace", namespace);
      put(parameters, "sandbox", sandbox);
      put(parameters, "type", type);
      return parameters;
    }

    private static void put(Map<String, String> parameters, String name, @Nullable String value) {
      if (value != null) {
        parameters.put(name, value);
      }
    }
  }
}
