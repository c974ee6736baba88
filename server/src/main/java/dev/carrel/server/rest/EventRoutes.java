package dev.carrel.server.rest;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Query;
import dev.carrel.server.http.Router;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** News of sandboxes, live. */
final class EventRoutes {
  private static final HeaderName LAST_EVENT = HeaderNames.create("Last-Event-ID");

  private static final int MAX_RECENT = 4096;

  private final Sandboxes sandboxes;

  EventRoutes(Sandboxes sandboxes) {
    this.sandboxes = sandboxes;
  }

  void addTo(Router router) {
    router.get("/api/v1/events", this::all).get("/api/v1/sandboxes/{id}/events", this::ofOne);
  }

  private void all(Exchange exchange) throws IOException, InterruptedException {
    EventFilter filter = filter(exchange.query());
    int recent = (int) exchange.query().number("recent", 0, 1, MAX_RECENT);
    if (recent > 0) {
      List<Event> kept = sandboxes.recentEvents(exchange.caller(), filter, recent);
      exchange.json(200, new Page(kept.stream().map(View::of).toList()));
      return;
    }
    follow(exchange, filter);
  }

  private void ofOne(Exchange exchange) throws IOException, InterruptedException {
    follow(exchange, filter(exchange.query()).withSandbox(Ids.sandbox(exchange)));
  }

  private static EventFilter filter(Query query) {
    return new EventFilter(
        null,
        query.text("namespace").orElse(null),
        query.text("sandbox").map(SandboxId::new).orElse(null),
        query.text("type").map(EventRoutes::words).orElse(Set.of()));
  }

  private static Set<String> words(String list) {
    return Arrays.stream(list.split(",", -1)).map(String::strip).collect(Collectors.toSet());
  }

  private void follow(Exchange exchange, EventFilter filter)
      throws IOException, InterruptedException {
    Events.Subscription news = sandboxes.events(exchange.caller(), filter, after(exchange));
    if (exchange.wantsWebSocket()) {
      talk(exchange, exchange.webSocket(), news);
    }
    EventStream events = exchange.events();
    // At once, so that the client knows that nothing can be missed from now on.
    events.keepAlive();
    while (true) {
      Event event = news.next(events.patience());
      if (event == null) {
        events.keepAlive();
      } else {
        events.send(event.kind(), event.id(), View.of(event));
        if (event.kind().equals(Event.DROPPED)) {
          return;
        }
      }
    }
  }

  /** As {@link #follow}, on a WebSocket: a text for each event. */
  private static void talk(Exchange exchange, WebSocket socket, Events.Subscription news)
      throws InterruptedException {
    // On shutdown the interrupt ends it, and the connection with it.
    while (true) {
      Event event = news.next(exchange.patience());
      if (event == null) {
        socket.ping();
        continue;
      }
      socket.send(Json.bytes(View.of(event)));
      if (event.kind().equals(Event.DROPPED)) {
        socket.close(WebSocket.TRY_AGAIN, "too slow");
        throw exchange.hangUp();
      }
    }
  }

  /** The last event seen, as the header says, or where none can be set, the query. */
  static @Nullable Long after(Exchange exchange) {
    try {
      return exchange
          .header(LAST_EVENT)
          .or(() -> exchange.query().text("after"))
          .map(Long::valueOf)
          .orElse(null);
    } catch (NumberFormatException e) {
      throw SandboxException.invalid("Last-Event-ID", "must be the id of an event");
    }
  }

  record Page(List<View> events) {}

  record View(
      long id,
      String at,
      String kind,
      String namespace,
      @Nullable String sandboxId,
      Map<String, String> details) {
    static View of(Event event) {
      SandboxId sandbox = event.sandbox();
      return new View(
          event.id(),
          event.at().toString(),
          event.kind(),
          event.namespace(),
          sandbox == null ? null : sandbox.value(),
          event.details());
    }
  }
}
