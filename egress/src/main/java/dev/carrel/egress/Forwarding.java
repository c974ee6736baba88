package dev.carrel.egress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Takes the requests of one client to servers. Keeps the connection to the last one of them. */
final class Forwarding {
  private static final Set<String> REPEATABLE = Set.of("GET", "HEAD", "OPTIONS");
  private static final Pattern STATUS = Pattern.compile("[1-5][0-9]{2}");
  private static final Duration ALL_SENT = Duration.ofMillis(500);

  private final Session session;
  private final Wire client;
  private final Upstream upstream;
  private @Nullable Wire kept;
  private @Nullable Target keptTo;

  Forwarding(Session session, Wire client, Upstream upstream) {
    this.session = session;
    this.client = client;
    this.upstream = upstream;
  }

  /**
   * One exchange; true when the client may send another.
   *
   * @throws RefusedException when nothing of an answer has been passed on, but interim ones
   */
  boolean forward(HttpRequest request) throws IOException, InterruptedException, RefusedException {
    Exchange exchange = null;
    Wire again = takeKept(request);
    String head = head(request);
    if (again != null) {
      exchange = ask(request, head, again);
    }
    if (exchange == null) {
      exchange = ask(request, head, upstream.dial(request.asked().target()));
    }
    if (exchange == null) {
      throw new RefusedException(
          Reason.UNREACHABLE, request.asked().target() + " hung up without an answer");
    }
    try {
      return relay(request, exchange);
    } catch (RefusedException e) {
      abandon(exchange.server(), exchange.body());
      throw e;
    }
  }

  /** Only who has shown a certificate for its name is sent the values of secrets. */
  private String head(HttpRequest request) throws RefusedException {
    if (!request.secure()) {
      return request.upstreamHead();
    }
    try {
      return request.upstreamHead(new Filling(session.gate().broker(), request.asked().target()));
    } catch (UncheckedIOException e) {
      throw new RefusedException(
          Reason.UNREACHABLE, "a secret cannot be used now: " + e.getMessage());
    }
  }

  /**
   * A request under way.
   *
   * @param body who sends the request's body; null: it has none
   */
  private record Exchange(Wire server, HttpHead answer, @Nullable Thread body) {}

  /** The connection to the same server, if the request can be sent again should it be dead. */
  private @Nullable Wire takeKept(HttpRequest request) throws IOException {
    Wire wire = kept;
    kept = null;
    if (wire == null) {
      return null;
    }
    if (request.asked().target().equals(keptTo)
        && !request.framing().hasBody()
        && REPEATABLE.contains(String.valueOf(request.asked().method()))) {
      return wire;
    }
    upstream.drop(wire);
    return null;
  }

  /** Sends the request and reads the head of the answer; null when the server hung up. */
  private @Nullable Exchange ask(HttpRequest request, String head, Wire server)
      throws IOException, RefusedException {
    HttpHead answer;
    Thread body = null;
    try {
      session.out().pass(head.length());
      server.write(head);
      if (request.framing().hasBody()) {
        body = session.start("body", () -> sendBody(request, server));
      }
      answer = readAnswer(server, session.in());
    } catch (IOException e) {
      answer = null;
    } catch (RefusedException e) {
      abandon(server, body);
      throw e;
    }
    if (answer == null) {
      abandon(server, body);
      return null;
    }
    return new Exchange(server, answer, body);
  }

  /**
   * Lets go of a server whose answer is not wanted: a client that goes on asking would collect
   * connections. With a body under way the client's own ends, and this one with it.
   */
  private void abandon(Wire server, @Nullable Thread body) throws IOException {
    if (body == null) {
      upstream.drop(server);
    }
  }

  private void sendBody(HttpRequest request, Wire server) throws IOException {
    try {
      Filter filter = session.gate().broker().out();
      Bodies.copy(request.framing(), client, server, true, session.out(), filter);
    } catch (RefusedException e) {
      session.gate().refused(request.asked(), e);
      session.close();
    } catch (IOException e) {
      // A server that takes no more may have answered, which a client that goes on sending reads
      // only if that is taken from it. Of one that has left nothing more comes.
      session.within(HttpSide.LAST_WORDS);
      client.drain(HttpSide.MAX_UNREAD);
      throw e;
    }
  }

  /**
   * The head of an answer; null when the server hung up.
   *
   * @param in counts it: a server may say in heads what it is not to say in bodies
   */
  static @Nullable HttpHead readAnswer(Wire server, Bodies.Meter in)
      throws IOException, RefusedException {
    HttpHead answer;
    try {
      answer = HttpHead.read(server);
    } catch (RefusedException e) {
      throw new RefusedException(Reason.UNREACHABLE, "the answer is not HTTP: " + e.message());
    }
    if (answer == null) {
      return null;
    }
    in.pass(answer.size());
    if (answer.start().size() < 2
        || !answer.start().get(0).matches("HTTP/1\\.[01]")
        || !STATUS.matcher(answer.start().get(1)).matches()
        // Nobody was asked to change the protocol.
        || answer.start().get(1).equals("101")) {
      throw new RefusedException(Reason.UNREACHABLE, "the answer is not HTTP");
    }
    return answer;
  }

  /** Once something of the answer itself has been passed on, failing is hanging up. */
  private boolean relay(HttpRequest request, Exchange exchange)
      throws IOException, InterruptedException, RefusedException {
    Wire server = exchange.server();
    HttpHead answer = exchange.answer();
    while (answer.start().get(1).startsWith("1")) {
      if (request.version() > 0) {
        client.write(head(answer, ""));
      }
      answer = readAnswer(server, session.in());
      if (answer == null) {
        return false;
      }
    }
    Framing framing = framing(request, answer);
    if (request.secure() && framing.hasBody()) {
      requireReadable(request, answer);
    }
    boolean readable = request.version() > 0 || !(framing instanceof Framing.Chunked);
    boolean open = !(framing instanceof Framing.UntilClose);
    boolean keeps = request.keepsAlive() && open && readable;
    String last =
        ("HEAD".equals(request.asked().method()) ? length(answer) : "")
            + (readable ? framing.field() : "")
            + (keeps ? "" : "Connection: close\r\n");
    client.write(head(answer, last));
    try {
      Filter filter = session.gate().broker().in();
      Bodies.copy(framing, server, client, readable, session.in(), filter);
    } catch (RefusedException e) {
      session.gate().refused(request.asked(), e);
      return false;
    }
    Thread body = exchange.body();
    // Who has sent the last byte is not over yet when a quick server answers: hanging up then would
    // break a promise to the client, whose next request may be one that nobody repeats.
    if (body != null && !body.join(ALL_SENT)) {
      // The server has answered before it had heard all: who sends the body learns it this way.
      upstream.drop(server);
      body.join(HttpSide.LAST_WORDS);
      return false;
    }
    if (open && answer.start().get(0).endsWith("1") && !answer.says("Connection", "close")) {
      kept = server;
      keptTo = request.asked().target();
    } else {
      upstream.drop(server);
    }
    return keeps;
  }

  /** What is compressed could hold the very value that must not come in. */
  private static void requireReadable(HttpRequest request, HttpHead answer)
      throws RefusedException {
    if (answer.values("Content-Encoding").stream().anyMatch(c -> !c.equalsIgnoreCase("identity"))) {
      throw new RefusedException(
          Reason.UNREACHABLE,
          request.asked().target()
              + " answers compressed although it was asked not to, so that its answer cannot be"
              + " searched for secrets");
    }
  }

  private static Framing framing(HttpRequest request, HttpHead answer) throws RefusedException {
    String status = answer.start().get(1);
    if ("HEAD".equals(request.asked().method()) || status.equals("204") || status.equals("304")) {
      return new Framing.None();
    }
    Framing framing;
    try {
      framing = answer.framing();
    } catch (RefusedException e) {
      throw new RefusedException(Reason.UNREACHABLE, "the answer is not HTTP: " + e.message());
    }
    return framing == null ? new Framing.UntilClose() : framing;
  }

  /**
   * @param last fields of our own
   */
  private byte[] head(HttpHead answer, String last) {
    var text = new StringBuilder(512).append("HTTP/1.1 ").append(answer.start().get(1)).append(' ');
    text.append(answer.start().size() > 2 ? answer.start().get(2) : "").append("\r\n");
    for (HttpHead.Field field : answer.endToEnd()) {
      text.append(field.name()).append(": ").append(field.value()).append("\r\n");
    }
    Filter filter = session.gate().broker().in();
    var bytes = new ByteArrayOutputStream(text.length());
    write(filter.next(ByteBuffer.wrap(latin(text.toString()))), bytes);
    write(filter.end(), bytes);
    bytes.writeBytes(latin(last + "\r\n"));
    return bytes.toByteArray();
  }

  private static void write(ByteBuffer piece, ByteArrayOutputStream to) {
    byte[] bytes = new byte[piece.remaining()];
    piece.get(bytes);
    to.writeBytes(bytes);
  }

  private static byte[] latin(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static String length(HttpHead answer) {
    return answer.values("Content-Length").stream()
        .map(length -> "Content-Length: " + length + "\r\n")
        .collect(Collectors.joining());
  }
}
