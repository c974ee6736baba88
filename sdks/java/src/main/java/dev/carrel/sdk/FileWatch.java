package dev.carrel.sdk;

import java.util.Iterator;
import java.util.Optional;

/** Changes below a directory as they happen. One thread reads, any may close. */
public final class FileWatch implements Iterable<FileWatch.Change>, AutoCloseable {
  private final ServerEvents events;

  private FileWatch(ServerEvents events) {
    this.events = events;
  }

  static FileWatch open(ServerEvents events) {
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

  /** Each as it comes, to the end. */
  @Override
  public Iterator<FileWatch.Change> iterator() {
    return new Arrivals<>(this::next);
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
