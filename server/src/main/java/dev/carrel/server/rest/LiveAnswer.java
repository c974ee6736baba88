package dev.carrel.server.rest;

import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/**
 * The event stream of an answer, begun when the first event comes: what is refused before is an
 * answer with a status of its own. For one thread.
 */
final class LiveAnswer {
  private final Exchange exchange;
  private @Nullable EventStream events;

  LiveAnswer(Exchange exchange) {
    this.exchange = exchange;
  }

  EventStream events() {
    EventStream begun = events;
    if (begun == null) {
      begun = exchange.events();
      events = begun;
    }
    return begun;
  }

  /** Tells where the request stands in the queue. */
  void queued(int position) {
    try {
      events().send("queued", new QueueRoutes.Queued(position));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
