package dev.carrel.sdk;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Events of something that outlives the connection it is followed on: when the connection breaks,
 * another one goes on after the last event that came. One thread reads, any may close.
 */
final class ResumedEvents implements AutoCloseable {
  private final Opening opening;
  private final boolean resumable;
  private final Patience patience;
  private volatile ServerEvents events;
  private volatile boolean closed;
  private long seen;
  private boolean started;
  private boolean over;

  private ResumedEvents(Opening opening, boolean resumable, long seen, Patience patience) {
    this.patience = patience;
    this.opening = opening;
    this.resumable = resumable;
    this.seen = seen;
    this.events = open();
  }

  /** One that ends with its connection. */
  static ResumedEvents once(Opening opening) {
    return new ResumedEvents(opening, false, 0, new Patience());
  }

  /**
   * @param seen the id of the last event that came already
   */
  static ResumedEvents resumable(Opening opening, long seen) {
    return resumable(opening, seen, new Patience());
  }

  static ResumedEvents resumable(Opening opening, long seen, Patience patience) {
    return new ResumedEvents(opening, true, seen, patience);
  }

  /** Asks for the events after the one with this id. */
  @FunctionalInterface
  interface Opening {
    ServerEvents after(long id);
  }

  /**
   * Waits for the next event; empty after the last one.
   *
   * @param last the name of the event that nothing follows, null when there is none: a stream that
   *     ends before it was broken
   */
  Optional<ServerEvents.Event> next(@Nullable String last) {
    while (!over) {
      try {
        Optional<ServerEvents.Event> event = events.next();
        if (event.isEmpty() && resumable && !closed) {
          throw CarrelException.unreachable("the stream ended early", null);
        }
        if (event.isEmpty() || isNew(event.get(), last)) {
          return event;
        }
      } catch (CarrelException e) {
        if (!resumable || closed) {
          throw e;
        }
        patience.afterFailure(e);
        events.close();
        events = open();
      }
    }
    return Optional.empty();
  }

  private boolean isNew(ServerEvents.Event event, @Nullable String last) {
    patience.reset();
    seen = Math.max(seen, event.id());
    over = event.name().equals(last);
    // Each connection to a command begins with the same word.
    boolean repeated = started && event.name().equals("started");
    started |= event.name().equals("started");
    return !repeated;
  }

  private ServerEvents open() {
    while (true) {
      try {
        ServerEvents opened = opening.after(seen);
        patience.opened();
        if (closed) {
          opened.close();
        }
        return opened;
      } catch (CarrelException e) {
        if (!resumable || closed) {
          throw e;
        }
        patience.afterFailure(e);
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    events.close();
  }
}
