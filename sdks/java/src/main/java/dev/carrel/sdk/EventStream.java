package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Instant;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What happens to sandboxes, as it happens; goes on by itself after a broken connection. One thread
 * reads, any may close.
 */
public final class EventStream implements Iterable<EventStream.Event>, AutoCloseable {
  private static final TypeReference<Recent> RECENT = new TypeReference<>() {};
  static final String PATH = "/api/v1/events";

  private final ResumedEvents events;

  private EventStream(ResumedEvents events) {
    this.events = events;
  }

  /**
   * Opens one.
   *
   * @param after the id of the last event seen; null: from now on
   */
  static EventStream open(Transport transport, String path, @Nullable Long after) {
    // Where to go on is asked for before the first event comes: a connection may break earlier.
    Long begin = after == null ? last(transport) : after;
    return new EventStream(
        ResumedEvents.resumable(
            seen -> transport.events(path, seen == 0 ? begin : Long.valueOf(seen)), 0));
  }

  private static @Nullable Long last(Transport transport) {
    List<Event> recent = transport.get(PATH + "?recent=1", RECENT).events();
    return recent.isEmpty() ? null : recent.getFirst().id();
  }

  /** Waits for the next event; empty once closed. */
  public Optional<Event> next() {
    return events.next(null).map(event -> event.as(Event.class));
  }

  /** Each event as it comes, until it is closed. */
  @Override
  public Iterator<Event> iterator() {
    return new Arrivals<>(this::next);
  }

  @Override
  public void close() {
    events.close();
  }

  /**
   * Something that happened.
   *
   * @param id to go on after it, with {@link Carrel#events(Long)}
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

  record Recent(List<Event> events) {}

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
