package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Failure;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Router;
import dev.carrel.server.http.SessionKey;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Streamable HTTP of both eras on one path. A request that says its version in its body needs no
 * session; one that begins with {@code initialize} gets one.
 */
public final class McpRoutes implements AutoCloseable {
  private static final String PATH = "/mcp";
  private static final HeaderName SESSION = HeaderNames.create("Mcp-Session-Id");
  private static final HeaderName VERSION = HeaderNames.create("MCP-Protocol-Version");
  private static final HeaderName METHOD = HeaderNames.create("Mcp-Method");
  private static final HeaderName NAME = HeaderNames.create("Mcp-Name");
  private static final HeaderName LAST_EVENT = HeaderNames.create("Last-Event-ID");
  private static final String STANDALONE = "0";
  private static final Duration RETRY = Duration.ofMillis(500);

  /** How long an answer may take before a stream is begun, which a client can come back to. */
  private static final Duration QUICK = Duration.ofSeconds(2);

  private final PublicAddress address;
  private final Methods methods;
  private final LegacySessions sessions = new LegacySessions();
  private final StatelessRequests stateless;

  /**
   * @param version of this server
   */
  public McpRoutes(Catalog catalog, String version, PublicAddress address) {
    this.address = address;
    this.methods = new Methods(catalog, version);
    this.stateless = new StatelessRequests(methods);
  }

  public void addTo(Router router) {
    router.post(PATH, this::post);
    router.get(PATH, this::get);
    router.delete(PATH, this::delete);
  }

  private void post(Exchange exchange) throws IOException, InterruptedException {
    JsonNode node;
    try {
      node = exchange.json();
    } catch (HttpProblem e) {
      refuse(exchange, RpcError.unreadable(e), null);
      return;
    }
    try {
      accept(exchange, RpcMessage.of(node));
    } catch (RpcError e) {
      refuse(exchange, e, RpcMessage.idOf(node));
    }
  }

  private static void refuse(Exchange exchange, RpcError error, @Nullable JsonNode id) {
    if (error.status() == 429) {
      Failure.tellToRetry(exchange);
    }
    exchange.json(error.status(), error.reply(id));
  }

  private void accept(Exchange exchange, RpcMessage message)
      throws IOException, InterruptedException {
    switch (message) {
      case RpcMessage.Request request when isStateless(exchange, request) -> {
        Flight flight = stateless.begin(client(exchange), request, headers(exchange));
        answer(exchange, flight, null);
      }
      case RpcMessage.Request request when request.method().equals("initialize") ->
          initialize(exchange, request);
      case RpcMessage.Request request -> {
        LegacySession session = session(exchange);
        answer(exchange, session.begin(request, methods), session);
      }
      case RpcMessage.Notice notice -> {
        if (exchange.header(SESSION).isPresent()) {
          session(exchange).heard(notice);
        }
        exchange.bytes(202, new byte[0]);
      }
      case RpcMessage.Reply reply -> {
        session(exchange).heard(reply);
        exchange.bytes(202, new byte[0]);
      }
    }
  }

  private static boolean isStateless(Exchange exchange, RpcMessage.Request request) {
    if (request.meta(Protocol.META_VERSION) != null) {
      return true;
    }
    Optional<String> version = exchange.header(VERSION);
    return exchange.header(SESSION).isEmpty()
        && version.isPresent()
        && !Protocol.LEGACY.contains(version.get());
  }

  private static StatelessRequests.Headers headers(Exchange exchange) {
    return new StatelessRequests.Headers(
        exchange.header(VERSION).orElse(null),
        exchange.header(METHOD).orElse(null),
        exchange.header(NAME).orElse(null));
  }

  private void initialize(Exchange exchange, RpcMessage.Request request) {
    JsonNode capabilities = request.params().path("capabilities");
    String asked = Methods.requiredText(request.params(), "protocolVersion");
    String version = Protocol.LEGACY.contains(asked) ? asked : Protocol.LEGACY.getFirst();
    LegacySession session =
        sessions.begin(
            client(exchange),
            version,
            capabilities instanceof ObjectNode known ? known : Protocol.object(),
            methods.catalog());
    ObjectNode result = Protocol.object().put("protocolVersion", version);
    result.set("capabilities", methods.capabilities());
    result.set("serverInfo", methods.serverInfo());
    result.put("instructions", methods.catalog().instructions());
    exchange.header(SESSION, session.id()).json(200, request.answer(result));
  }

  private LegacySession session(Exchange exchange) {
    String id =
        exchange
            .header(SESSION)
            .orElseThrow(
                () ->
                    RpcError.malformed(
                        Protocol.INVALID_REQUEST,
                        "neither Mcp-Session-Id nor params._meta: begin with initialize, or with"
                            + " server/discover"));
    exchange
        .header(VERSION)
        .filter(version -> !Protocol.LEGACY.contains(version))
        .ifPresent(
            version -> {
              throw RpcError.malformed(
                  Protocol.INVALID_REQUEST, "MCP-Protocol-Version is not one with sessions");
            });
    return sessions.get(exchange.caller(), id);
  }

  private Call.Client client(Exchange exchange) {
    return new Call.Client(
        exchange.caller(),
        SessionKey.of(exchange),
        methods.catalog().choose(exchange.query().text("tools").orElse(null)),
        address.of(exchange));
  }

  /**
   * Answers at once when the answer is quick and alone; else begins a stream.
   *
   * @param session null in the era without: then a client that leaves cancels
   */
  private void answer(Exchange exchange, Flight flight, @Nullable LegacySession session)
      throws IOException, InterruptedException {
    exchange.cancelWhenClientLeaves();
    boolean delivered = false;
    boolean resumable = false;
    try {
      Outbox.Item first = flight.outbox().next(0, QUICK, 0);
      boolean streams = acceptsEvents(exchange);
      while (first == null && !streams && !flight.outbox().isOver(0, 0)) {
        first = flight.outbox().next(0, exchange.patience(), 0);
      }
      if (first != null && !first.last() && !streams) {
        first = last(exchange, flight);
      }
      if (first != null && first.last()) {
        exchange.json(flight.status(), first.message());
      } else {
        EventStream events = exchange.events();
        String name = null;
        if (session != null) {
          name = session.keep(flight);
          resumable = true;
          prime(exchange, events, session, name, 0);
        }
        send(events, flight.outbox(), name, 0, 0);
      }
      delivered = true;
    } finally {
      if (!delivered && !resumable) {
        flight.cancel();
      }
    }
  }

  /** For a client that cannot read a stream: only the answer itself. */
  private static Outbox.@Nullable Item last(Exchange exchange, Flight flight)
      throws InterruptedException {
    long seen = 0;
    while (!flight.outbox().isOver(seen, 0)) {
      Outbox.Item item = flight.outbox().next(seen, exchange.patience(), 0);
      if (item != null) {
        seen = item.number();
        if (item.last()) {
          return item;
        }
      }
    }
    return null;
  }

  private static boolean acceptsEvents(Exchange exchange) {
    String accept = exchange.header(HeaderNames.ACCEPT).orElse("*/*");
    return accept.contains("text/event-stream") || accept.contains("*/*");
  }

  private static void prime(
      Exchange exchange, EventStream events, LegacySession session, String name, long seen)
      throws IOException {
    // Clients of earlier versions would take the empty message for a broken one. Who speaks to us
    // may know better than whom it speaks for, as carrel mcp does.
    String version = exchange.header(VERSION).orElse(session.version());
    if (version.equals(Protocol.LEGACY.getFirst())) {
      events.prime(name + "." + seen, RETRY);
    }
  }

  private static void send(
      EventStream events, Outbox outbox, @Nullable String name, long from, long hangUps)
      throws IOException, InterruptedException {
    long seen = from;
    while (true) {
      Outbox.Item item = outbox.next(seen, events.patience(), hangUps);
      if (item != null) {
        seen = item.number();
        events.message(name == null ? null : name + "." + seen, item.message());
        if (item.last()) {
          outbox.delivered();
          return;
        }
      } else if (outbox.isOver(seen, hangUps)) {
        return;
      } else {
        events.keepAlive();
      }
    }
  }

  /** What belongs to no request, or the rest of a stream that broke off. */
  private void get(Exchange exchange) throws IOException, InterruptedException {
    if (exchange.header(SESSION).isEmpty()) {
      notAllowed(exchange);
      return;
    }
    try {
      LegacySession session = session(exchange);
      Optional<String> last = exchange.header(LAST_EVENT);
      if (last.isPresent() && !last.get().startsWith(STANDALONE + ".")) {
        resume(exchange, session, last.get());
      } else {
        listen(exchange, session, last.map(McpRoutes::number).orElse(null));
      }
    } catch (RpcError e) {
      refuse(exchange, e, null);
    }
  }

  private static void resume(Exchange exchange, LegacySession session, String last)
      throws IOException, InterruptedException {
    String name = last.substring(0, Math.max(0, last.indexOf('.')));
    long seen = number(last);
    Flight flight = session.kept(name);
    if (flight == null) {
      throw RpcError.malformed(Protocol.INVALID_REQUEST, "there is no stream to resume");
    }
    long hangUps = flight.outbox().hangUps();
    EventStream events = exchange.events();
    prime(exchange, events, session, name, seen);
    send(events, flight.outbox(), name, seen, hangUps);
  }

  /**
   * @param last the number of the last message that a client got which comes back; null for a new
   *     one
   */
  private static void listen(Exchange exchange, LegacySession session, @Nullable Long last)
      throws IOException, InterruptedException {
    // Of a connection that was lost without a word the server learns late, its client at once.
    long listener = session.listen(last != null);
    if (listener == 0) {
      exchange.json(
          409,
          RpcError.malformed(Protocol.INVALID_REQUEST, "this session is listened to already")
              .reply(null));
      return;
    }
    try {
      long seen = last == null ? 0 : last;
      long hangUps = session.standalone().hangUps();
      EventStream events = exchange.events();
      prime(exchange, events, session, STANDALONE, seen);
      send(events, session.standalone(), STANDALONE, seen, hangUps);
    } finally {
      session.leave(listener);
    }
  }

  private static long number(String eventId) {
    try {
      return Long.parseLong(eventId.substring(eventId.indexOf('.') + 1));
    } catch (NumberFormatException e) {
      throw RpcError.malformed(
          Protocol.INVALID_REQUEST, "Last-Event-ID is not one that this server gave");
    }
  }

  private void delete(Exchange exchange) {
    if (exchange.header(SESSION).isEmpty()) {
      notAllowed(exchange);
      return;
    }
    try {
      sessions.end(session(exchange));
      exchange.noContent();
    } catch (RpcError e) {
      refuse(exchange, e, null);
    }
  }

  private static void notAllowed(Exchange exchange) {
    exchange
        .header(HeaderNames.ALLOW, "POST")
        .json(
            405,
            RpcError.malformed(Protocol.INVALID_REQUEST, "without a session there is only POST")
                .reply(null));
  }

  /** Ends all sessions; what they run is cancelled. */
  @Override
  public void close() {
    sessions.close();
  }
}
