package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.sandbox.Caller;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A session of the eras that have them. Safe for many threads. */
final class LegacySession implements AutoCloseable {
  private static final int MAX_FLIGHTS = 64;
  private static final int KEPT_STREAMS = 32;
  private static final long KEPT_WEIGHT = 4 << 20;
  private static final Duration PERSON = Duration.ofMinutes(10);

  private final String id;
  private final Call.Client client;
  private final String version;
  private final ObjectNode capabilities;
  private final Outbox standalone = Outbox.ofSession();
  private final Map<String, Flight> flights = new ConcurrentHashMap<>();
  private final Map<String, CompletableFuture<JsonNode>> questions = new ConcurrentHashMap<>();
  private final Subscriptions subscriptions = new Subscriptions();
  private final LinkedHashMap<String, Flight> streams = new LinkedHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final Catalog.Listening news;
  private final Runnable ended;
  private volatile @Nullable LogLevel logLevel;
  private volatile long usedAt = System.nanoTime();
  private volatile long keptWeight;
  private long listeners;
  private long listener;

  /**
   * @param ended called when a request has ended: more may be kept then
   */
  LegacySession(
      String id,
      Call.Client client,
      String version,
      ObjectNode capabilities,
      Catalog catalog,
      Runnable ended) {
    this.id = id;
    this.client = client;
    this.version = version;
    this.capabilities = capabilities;
    this.ended = ended;
    this.news = catalog.listen(client.caller().tenant(), this::heard);
  }

  String id() {
    return id;
  }

  String tenant() {
    return client.caller().tenant();
  }

  boolean belongsTo(Caller other) {
    return client.caller().equals(other);
  }

  String version() {
    return version;
  }

  Outbox standalone() {
    return standalone;
  }

  void used() {
    usedAt = System.nanoTime();
  }

  /** Since when nobody has used it; nothing for one that is busy. */
  Duration idle() {
    return flights.isEmpty() && !isListenedTo()
        ? Duration.ofNanos(System.nanoTime() - usedAt)
        : Duration.ZERO;
  }

  /** Begins to serve a request; its messages are kept for a client that comes back. */
  Flight begin(RpcMessage.Request request, Methods methods) {
    if (flights.size() >= MAX_FLIGHTS) {
      throw RpcError.tooMany("this session has " + MAX_FLIGHTS + " requests under way already");
    }
    var outbox = Outbox.ofRequest();
    String key = request.id().toString();
    var call = new Call(client, request.params(), new SessionPeer(outbox));
    Flight flight =
        Flight.prepare(
            request,
            outbox,
            () -> handle(request, methods, call),
            () -> {
              flights.remove(key);
              used();
              forgetSurplus(KEPT_WEIGHT);
              ended.run();
            });
    if (flights.putIfAbsent(key, flight) != null) {
      throw RpcError.malformed(Protocol.INVALID_REQUEST, "this id is in use");
    }
    flight.start();
    return flight;
  }

  private ObjectNode handle(RpcMessage.Request request, Methods methods, Call call)
      throws Exception {
    return switch (request.method()) {
      case "ping" -> Protocol.object();
      case "logging/setLevel" -> {
        logLevel = LogLevel.parse(request.params().path("level"));
        yield Protocol.object();
      }
      case "resources/subscribe" -> {
        subscriptions.add(methods.catalog(), call, call.uri(), this::updated);
        yield Protocol.object();
      }
      case "resources/unsubscribe" -> {
        subscriptions.remove(call.uri());
        yield Protocol.object();
      }
      default ->
          methods
              .handle(request.method(), call, false)
              .orElseThrow(() -> RpcError.methodNotFound(request.method(), 200));
    };
  }

  void heard(RpcMessage.Notice notice) {
    if (notice.method().equals("notifications/cancelled")) {
      Flight flight = flights.get(String.valueOf(notice.params().get("requestId")));
      if (flight != null) {
        flight.cancel();
      }
    }
  }

  void heard(RpcMessage.Reply reply) {
    CompletableFuture<JsonNode> question = questions.get(reply.id());
    if (question == null) {
      return;
    }
    if (reply.result() != null) {
      question.complete(reply.result());
    } else {
      question.completeExceptionally(
          RpcError.invalidParams(
              "the client answered with an error: "
                  + String.valueOf(reply.error()).lines().findFirst().orElse("")));
    }
  }

  private void heard(Catalog.News change) {
    switch (change) {
      case Catalog.News.Updated _, Catalog.News.UpdatedBelow _ ->
          change.among(subscriptions.uris()).forEach(this::updated);
      case Catalog.News.Tools _, Catalog.News.Prompts _, Catalog.News.Resources _ ->
          standalone.changed(Protocol.notification(change.method(), Protocol.object()));
    }
  }

  private void updated(String uri) {
    standalone.changed(
        Protocol.notification(
            "notifications/resources/updated", Protocol.object().put("uri", uri)));
  }

  /** Keeps the messages of a request under a name, for a client that comes back. */
  synchronized String keep(Flight flight) {
    String name = Long.toString(numbers.incrementAndGet());
    streams.put(name, flight);
    // Of those that have ended: how many are under way is bounded, and their answers are to come.
    for (var oldest = streams.values().iterator();
        oldest.hasNext() && streams.size() > KEPT_STREAMS; ) {
      if (oldest.next().outbox().isFinished()) {
        oldest.remove();
      }
    }
    forgetSurplus(KEPT_WEIGHT);
    return name;
  }

  /** About as many characters as its streams held when the last of them began or ended. */
  long keptWeight() {
    return keptWeight;
  }

  /** Forgets the oldest streams that have ended while all together are larger. */
  synchronized void forgetSurplus(long most) {
    long kept = streams.values().stream().mapToLong(flight -> flight.outbox().weight()).sum();
    for (var oldest = streams.values().iterator(); oldest.hasNext() && kept > most; ) {
      Outbox outbox = oldest.next().outbox();
      if (outbox.isFinished()) {
        kept -= outbox.weight();
        oldest.remove();
      }
    }
    keptWeight = kept;
  }

  synchronized @Nullable Flight kept(String name) {
    return streams.get(name);
  }

  /**
   * The number of who may read what belongs to no request, for {@link #leave}; 0: another one does.
   *
   * @param instead of that one, who then is to stop
   */
  synchronized long listen(boolean instead) {
    if (listener != 0) {
      if (!instead) {
        return 0;
      }
      standalone.hangUp();
    }
    listener = ++listeners;
    return listener;
  }

  synchronized void leave(long mine) {
    if (listener == mine) {
      listener = 0;
    }
    used();
  }

  private synchronized boolean isListenedTo() {
    return listener != 0;
  }

  @Override
  public void close() {
    news.close();
    subscriptions.close();
    flights.values().forEach(Flight::cancel);
    standalone.abandon();
    standalone.hangUp();
  }

  /** Talks to the client over the stream of one request. */
  private final class SessionPeer implements Peer {
    private final Outbox outbox;

    SessionPeer(Outbox outbox) {
      this.outbox = outbox;
    }

    @Override
    public ObjectNode capabilities() {
      return capabilities;
    }

    @Override
    public void send(ObjectNode notification) {
      outbox.notice(notification);
    }

    @Override
    public Optional<LogLevel> logLevel() {
      return Optional.ofNullable(logLevel);
    }

    @Override
    public ObjectNode ask(List<Inquiry> inquiries, @Nullable String state)
        throws InterruptedException {
      ObjectNode answers = Protocol.object();
      for (Inquiry inquiry : inquiries) {
        answers.set(inquiry.key(), ask(inquiry));
      }
      return answers;
    }

    private JsonNode ask(Inquiry inquiry) throws InterruptedException {
      String number = "carrel-" + numbers.incrementAndGet();
      var answer = new CompletableFuture<JsonNode>();
      questions.put(number, answer);
      try {
        outbox.require(inquiry.toJson().put("jsonrpc", "2.0").put("id", number));
        JsonNode given = answer.get(PERSON.toSeconds(), TimeUnit.SECONDS);
        if (!inquiry.isAnsweredBy(given)) {
          throw RpcError.invalidParams("the client's answer is not one to " + inquiry.kind());
        }
        return given;
      } catch (ExecutionException e) {
        throw e.getCause() instanceof RpcError error ? error : new IllegalStateException(e);
      } catch (TimeoutException e) {
        throw RpcError.invalidParams("the client did not answer within " + PERSON);
      } finally {
        questions.remove(number);
      }
    }

    @Override
    public Optional<String> state() {
      return Optional.empty();
    }

    @Override
    public void hangUp() {
      outbox.hangUp();
    }
  }
}
