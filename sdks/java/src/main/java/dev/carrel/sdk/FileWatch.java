package dev.carrel.sdk;

import java.util.Optional;

/** Changes below a directory as they happen. One thread reads, any may close. */
public final class FileWatch implements AutoCloseable {
  private final EventStream events;

  private FileWatch(EventStream events) {
    this.events = events;
  }

  static FileWatch open(EventStream events) {
    // The first event says that nothing more can be missed.
    if (events.next().isEmpty()) {
      throw CarrelException.unreachable("the watch ended before it began", null);
    }
    return new FileWatch(events);
  }

  /** Waits for the next change; empty once closed. */
  public Optional<Change> next() {
    return events.next().map(event -> event.as(Change.class));
  }

  @Override
  public void close() {
    events.close();
  }

  /**
   * One change.
   *
   * @param kind created, modified, deleted, moved_away, moved_here, or overflow: look again
   *     yourself
   */
  public record Change(String path, String kind, boolean directory) {}
}
