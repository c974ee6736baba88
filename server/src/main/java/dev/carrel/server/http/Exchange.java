package dev.carrel.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.SandboxException;
import io.helidon.http.Header;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Method;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.http.RoutingRequest;
import io.helidon.webserver.http.RoutingResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** One request and its answer, for the thread that serves it. */
public final class Exchange {
  private static final String JSON = "application/json";
  private static final int COPY = 64 * 1024;

  private final RoutingRequest request;
  private final RoutingResponse response;
  private final Connection connection;
  private final Limits limits;
  private final String requestId;
  private final Query query;
  private final Target target;
  private Router.@Nullable Match match;
  private @Nullable Caller caller;
  private @Nullable InputStream body;
  private @Nullable EventStream events;
  private boolean closing;
  private boolean upgraded;
  private int status;

  /** What bounds an exchange. */
  record Limits(long maxJsonBody, Duration keepAlive) {}

  Exchange(
      RoutingRequest request,
      RoutingResponse response,
      Connection connection,
      Limits limits,
      String requestId) {
    this.request = request;
    this.response = response;
    this.connection = connection;
    this.limits = limits;
    this.requestId = requestId;
    this.query = new Query(request.prologue().query().rawValue());
    this.target = Target.of(request.prologue().uriPath().rawPath(), request.authority());
  }

  /** What the request addresses the server by: a name, and maybe a port. */
  public String authority() {
    return target.authority();
  }

  /** The name under which the log has it. */
  String requestId() {
    return requestId;
  }

  public String method() {
    return request.prologue().method().text();
  }

  /** As it came, from the slash on. */
  public String rawPath() {
    return target.rawPath();
  }

  /** What follows the question mark as it came; may be empty. */
  public String rawQuery() {
    String raw = request.prologue().query().rawValue();
    return raw == null ? "" : raw;
  }

  /** All headers with their values, in their order; a name can come twice. */
  public void eachHeader(BiConsumer<String, String> reader) {
    request
        .headers()
        .forEach(
            header -> header.allValues().forEach(value -> reader.accept(header.name(), value)));
  }

  void matched(Router.Match newMatch) {
    match = newMatch;
  }

  /** Whom the request comes from, as the route itself has found out. */
  public void authenticated(Caller newCaller) {
    caller = newCaller;
  }

  Router.@Nullable Match match() {
    return match;
  }

  Optional<Caller> knownCaller() {
    return Optional.ofNullable(caller);
  }

  /** Who asks. Only for routes that want a token. */
  public Caller caller() {
    if (caller == null) {
      throw new IllegalStateException("an open route has no caller");
    }
    return caller;
  }

  /** What the path has in this place; empty when the route has no such place. */
  public Optional<String> findParameter(String name) {
    return match == null ? Optional.empty() : Optional.ofNullable(match.parameters().get(name));
  }

  /** A decoded segment of the path. */
  public String parameter(String name) {
    return findParameter(name)
        .orElseThrow(() -> new IllegalStateException("the route has no parameter " + name));
  }

  /** The raw segments that the route's {@code {name...}} took. */
  public List<String> rest() {
    return match == null ? List.of() : match.rest();
  }

  /** Decodes one of {@link #rest()}. */
  public static String decode(String rawSegment) {
    return PercentCoding.segment(rawSegment);
  }

  public Query query() {
    return query;
  }

  public Optional<String> header(HeaderName name) {
    return request.headers().first(name);
  }

  /** All values, one a line as they came. */
  public List<String> headers(HeaderName name) {
    return request.headers().contains(name) ? request.headers().get(name).allValues() : List.of();
  }

  /** Those whose name begins so: what follows it, in small letters, and the first value. */
  public Map<String, String> headersAfter(String prefix) {
    var found = new HashMap<String, String>();
    for (Header header : request.headers()) {
      String name = header.headerName().lowerCase();
      if (name.startsWith(prefix) && name.length() > prefix.length()) {
        found.put(name.substring(prefix.length()), header.get());
      }
    }
    return found;
  }

  /** Whether the caller asks for this type by name. */
  public boolean accepts(String mediaType) {
    for (String value : request.headers().values(HeaderNames.ACCEPT)) {
      if (value.regionMatches(true, 0, mediaType, 0, mediaType.length())) {
        return true;
      }
    }
    return false;
  }

  public boolean hasContentType(String mediaType) {
    return header(HeaderNames.CONTENT_TYPE)
        .filter(type -> type.regionMatches(true, 0, mediaType, 0, mediaType.length()))
        .isPresent();
  }

  /** The declared length of the body; empty for one in chunks. */
  public OptionalLong contentLength() {
    if (request.headers().contains(HeaderNames.TRANSFER_ENCODING)) {
      return OptionalLong.empty();
    }
    return OptionalLong.of(request.headers().contentLength().orElse(0));
  }

  /** The body as it arrives; each wait for the client is bounded, its size is not. */
  public InputStream body() {
    if (body == null) {
      body = openBody();
    }
    return body;
  }

  private InputStream openBody() {
    OptionalLong length = contentLength();
    if (length.isEmpty()) {
      closing = true;
      boolean expects = request.headers().containsToken(HeaderValues.EXPECT_100);
      return new TimedBody(connection, new ChunkedBody(connection, expects));
    }
    return length.getAsLong() == 0
        ? InputStream.nullInputStream()
        : new TimedBody(connection, request.content().inputStream());
  }

  /** The body as a JSON object. */
  public Fields fields() throws IOException {
    return Fields.parse(content());
  }

  /** As {@link #fields()}, where saying nothing would not mean what it does. */
  public Fields requiredFields() throws IOException {
    byte[] content = content();
    if (content.length == 0) {
      throw SandboxException.invalid("body", "is required");
    }
    return Fields.parse(content);
  }

  /** The body as JSON of any kind. */
  public JsonNode json() throws IOException {
    return Json.parse(content());
  }

  /** The whole body, of the size that JSON may have. */
  public byte[] content() throws IOException {
    long max = limits.maxJsonBody;
    OptionalLong length = contentLength();
    if (length.isPresent() && length.getAsLong() > max) {
      throw HttpProblem.tooLarge("body", max);
    }
    if (length.isPresent()) {
      return body().readNBytes((int) length.getAsLong());
    }
    var bytes = new ByteArrayOutputStream();
    byte[] piece = new byte[8192];
    for (int count; (count = body().read(piece)) >= 0; ) {
      if (bytes.size() + count > max) {
        throw HttpProblem.tooLarge("body", max);
      }
      bytes.write(piece, 0, count);
    }
    return bytes.toByteArray();
  }

  public Exchange header(HeaderName name, String value) {
    response.header(name, value);
    return this;
  }

  /** As {@link #header}, beside those of the same name that are there already. */
  public Exchange addHeader(HeaderName name, String value) {
    response.headers().add(HeaderValues.create(name, value));
    return this;
  }

  /** Takes away a header that every answer has unless it says otherwise. */
  public Exchange withoutHeader(HeaderName name) {
    response.headers().remove(name);
    return this;
  }

  /** Where the client is, as far as this server sees. */
  public String clientAddress() {
    return request.remotePeer().address() instanceof InetSocketAddress address
        ? address.getAddress().getHostAddress()
        : "unknown";
  }

  /** Whether the request came over TLS. */
  public boolean secure() {
    return request.isSecure();
  }

  /**
   * Lets another thread read the body. The client's going away interrupts this one, and the
   * connection ends with the answer, which must be {@link #live}.
   *
   * @param reading of the body; throws when the client goes away before its end
   */
  public void readElsewhere(Runnable reading) {
    closing = true;
    body();
    connection.readBy(reading);
  }

  public void json(int newStatus, Object value) {
    response.header(HeaderNames.CONTENT_TYPE, JSON);
    if (isHead()) {
      bytes(newStatus, Json.bytes(value));
      return;
    }
    var answer = new JsonAnswer(this, newStatus);
    try {
      Json.write(answer, value);
      answer.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public void noContent() {
    bytes(204, new byte[0]);
  }

  /** The whole answer at once; its content type is a header set before. */
  public void bytes(int newStatus, byte[] content) {
    if (isHead()) {
      headersOnly(newStatus, content.length);
      return;
    }
    begin(newStatus);
    response.send(content);
  }

  private boolean isHead() {
    return request.prologue().method().equals(Method.HEAD);
  }

  /**
   * Headers alone, with the length that a body would have.
   *
   * @param length negative when it is not known
   */
  public void headersOnly(int newStatus, long length) {
    if (length >= 0) {
      response.header(HeaderNames.CONTENT_LENGTH, Long.toString(length));
    }
    begin(newStatus);
    response.send();
  }

  /** Ends a handler that would now begin to write what nobody asked for. */
  private CloseConnectionException headAlone(int newStatus, long length) {
    closing = true;
    if (length < 0) {
      // The web server would say that its length is 0.
      stream(newStatus);
    } else {
      headersOnly(newStatus, length);
      response.commit();
    }
    return hangUp();
  }

  /**
   * An answer that is written bit by bit. One that is not written to its end must throw, so that
   * the client sees a broken connection rather than a short answer.
   *
   * @param length negative when it is not known
   */
  public OutputStream output(int newStatus, long length) {
    if (isHead()) {
      throw headAlone(newStatus, length);
    }
    if (length >= 0) {
      response.header(HeaderNames.CONTENT_LENGTH, Long.toString(length));
    }
    begin(newStatus);
    return response.outputStream();
  }

  /**
   * An answer that goes on for long, in pieces that are flushed by whoever writes them. The
   * caller's going away interrupts this thread.
   */
  public OutputStream live(int newStatus) {
    return live(newStatus, -1);
  }

  /**
   * As {@link #live(int)}.
   *
   * @param length negative when it is not known
   */
  public OutputStream live(int newStatus, long length) {
    if (length >= 0) {
      response.header(HeaderNames.CONTENT_LENGTH, Long.toString(length));
    }
    closing = true;
    status = newStatus;
    response.status(Status.create(newStatus));
    connection.watched();
    response.header(HeaderValues.CONNECTION_CLOSE);
    return response.outputStream();
  }

  /**
   * As {@link #live(int)}, and its head is sent now. When all is written the handler must close it
   * and throw {@link #hangUp}.
   */
  public OutputStream stream(int newStatus) {
    status = newStatus;
    upgraded = true;
    connection.watched();
    boolean chunked = !request.prologue().protocolVersion().equals("1.0");
    return new ChunkedAnswer(
        new RawOutput(connection), Status.create(newStatus), response.headers(), chunked);
  }

  /** Live events. The caller's going away interrupts this thread. */
  public EventStream events() {
    closing = true;
    response.header(HeaderNames.CONTENT_TYPE, "text/event-stream");
    response.header(HeaderNames.CACHE_CONTROL, "no-store");
    response.header(HeaderNames.create("X-Accel-Buffering"), "no");
    if (isHead()) {
      throw headAlone(200, -1);
    }
    status = 200;
    response.status(Status.OK_200);
    connection.watched();
    response.header(HeaderValues.CONNECTION_CLOSE);
    events = new EventStream(response.outputStream(), limits.keepAlive);
    return events;
  }

  /** Whether the client wants to go on as a WebSocket. */
  public boolean wantsWebSocket() {
    return WebSocket.isWanted(this);
  }

  /**
   * Goes on as a WebSocket over which only the server talks. The caller's going away interrupts
   * this thread; when the handler is done it must call {@link #hangUp}.
   */
  public WebSocket webSocket() {
    return webSocket(Map.of(), WebSocket.DROPPED);
  }

  /** As {@link #webSocket()}, and what the client says is there to be received. */
  public WebSocket conversation() {
    return webSocket(Map.of(), new Inbox(connection));
  }

  /**
   * As {@link #webSocket()}, for a client whose messages are taken as they come.
   *
   * @param headers of the answer, besides those that the protocol wants
   */
  public WebSocket webSocket(Map<String, String> headers, WebSocket.Messages messages) {
    WebSocket socket = WebSocket.open(this, connection, headers, messages);
    status = Status.SWITCHING_PROTOCOLS_101.code();
    upgraded = true;
    return socket;
  }

  /**
   * Goes on in another protocol, whose bytes mean nothing here. As with {@link #webSocket}.
   *
   * @param head of the answer that says so
   * @param fromClient takes what the client sends; an exception ends it
   * @return takes what the client is to get
   */
  public OutputStream switchProtocols(String head, ClientBytes fromClient) {
    var out = new RawOutput(connection);
    out.write(head.getBytes(StandardCharsets.ISO_8859_1));
    status = Status.SWITCHING_PROTOCOLS_101.code();
    upgraded = true;
    connection.watchedBy(() -> RawOutput.pump(connection.reader(), fromClient));
    return out;
  }

  /** Takes bytes of a client. */
  @FunctionalInterface
  public interface ClientBytes {
    void take(byte[] bytes) throws IOException;
  }

  /** How long to wait for something to send before a sign of life is due. */
  public Duration patience() {
    return limits.keepAlive;
  }

  /** Whether this thread was interrupted because the server stops, and not by the client. */
  public boolean shuttingDown() {
    return connection.shuttingDown();
  }

  /** Ends the connection, which has its answer. */
  public CloseConnectionException hangUp() {
    return new CloseConnectionException("the connection ends with this answer");
  }

  /** Whether the connection has an answer that the web server knows nothing of. */
  boolean upgraded() {
    return upgraded;
  }

  /** The event stream, once it was begun. */
  @Nullable EventStream begunEvents() {
    return events;
  }

  /** From now on the caller's going away interrupts this thread. The body must have been read. */
  public void cancelWhenClientLeaves() {
    connection.cancellable();
  }

  /**
   * Ends what {@link #cancelWhenClientLeaves} and {@link #events} began. To be called before
   * anything is closed whose closing cancels something in a sandbox: an interrupt would break that.
   */
  public void settle() {
    connection.settle();
  }

  int status() {
    return status;
  }

  boolean closing() {
    return closing;
  }

  /** Whether an answer has begun. */
  public boolean answered() {
    return response.isSent() || response.hasEntity();
  }

  /** Whether an answer is on its way that can no longer be another one. */
  public boolean begun() {
    return upgraded || status != 0;
  }

  /** Takes back an answer of which nothing has been sent; false when it is too late. */
  public boolean takeBack() {
    return response.reset();
  }

  void closeAfterwards() {
    closing = true;
  }

  private void begin(int newStatus) {
    status = newStatus;
    if (!connection.steady() || unread()) {
      closing = true;
    }
    if (closing) {
      response.header(HeaderValues.CONNECTION_CLOSE);
    }
    response.status(Status.create(newStatus));
  }

  /** Whether bytes of the body may still come, so that no further request can be read. */
  boolean unread() {
    OptionalLong length = contentLength();
    long read = body instanceof TimedBody timed ? timed.count() : 0;
    return length.isEmpty() || read < length.getAsLong();
  }

  /** Reads on for a while, so that a client that still sends gets to see its answer. */
  void linger(long maxBytes, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    byte[] piece = new byte[COPY];
    try {
      InputStream rest = body();
      for (long seen = 0; seen < maxBytes && System.nanoTime() - end < 0; ) {
        int count = rest.read(piece);
        if (count < 0) {
          return;
        }
        seen += count;
      }
    } catch (IOException | HttpProblem | SandboxException e) {
      // The client has stopped sending, which is what we waited for.
      return;
    }
  }
}
