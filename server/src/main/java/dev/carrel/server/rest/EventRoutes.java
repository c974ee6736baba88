package dev.carrel.server.rest;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** News of sandboxes, live. */
final class EventRoutes {
  private static final HeaderName LAST_EVENT = HeaderNames.create("Last-Event-ID");

  private final Sandboxes sandboxes;

  EventRoutes(Sandboxes sandboxes) {
    this.sandboxes = sandboxes;
  }

  void addTo(Router router) {
    router.get("/api/v1/events", this::all).get("/api/v1/sandboxes/{id}/events", this::ofOne);
  }

  private void all(Exchange exchange) throws IOException, InterruptedException {
    follow(exchange, sandboxes.events(exchange.caller(), after(exchange)));
  }

  private void ofOne(Exchange exchange) throws IOException, InterruptedException {
    follow(exchange, sandboxes.events(exchange.caller(), Ids.sandbox(exchange), after(exchange)));
  }

  private static void follow(Exchange exchange, Events.Subscription news)
      throws IOException, InterruptedException {
    EventStream events = exchange.events();
    // At once, so that the client knows that nothing can be missed from now on.
    events.keepAlive();
    while (true) {
      Event event = news.next(events.patience());
      if (event == null) {
        events.keepAlive();
      } else {
        events.send(event.kind(), event.id(), View.of(event));
      }
    }
  }

  static @Nullable Long after(Exchange exchange) {
    try {
      return exchange.header(LAST_EVENT).map(Long::valueOf).orElse(null);
    } catch (NumberFormatException e) {
      throw SandboxException.invalid("Last-Event-ID", "must be the id of an event");
    }
  }

  record View(
      long id, String at, String kind, @Nullable String sandboxId, Map<String, String> details) {
    static View of(Event event) {
      SandboxId sandbox = event.sandbox();
      return new View(
          event.id(),
          event.at().toString(),
          event.kind(),
          sandbox == null ? null : sandbox.value(),
          event.details());
    }
  }
}
