package dev.carrel.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Carries MCP between standard input and output, a message on a line, and a server. Requests run
 * side by side; what the server sends meanwhile is passed on as it comes. A server that went away
 * is found again, or replaced, and a session is begun anew there; a call of a tool that it may have
 * begun is not made a second time.
 */
final class McpBridge implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String META_VERSION = "io.modelcontextprotocol/protocolVersion";
  private static final Duration GRACE = Duration.ofSeconds(10);
  private static final String LOST = "the server went away before it answered; it may have run";
  private static final int SERVER_ERROR = -32603;
  private static final int PARSE_ERROR = -32700;
  private static final int BAD_REQUEST = -32600;
  private static final int INVALID_PARAMS = -32602;
  private static final Set<String> HERE = Set.of("127.0.0.1", "[::1]", "localhost");
  private static final int MAX_MESSAGE = 32 * 1024 * 1024;

  /** Stands alone, and changes nothing. */
  private static final String DISCOVER =
      """
      {"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{\
      "io.modelcontextprotocol/protocolVersion":"2026-07-28",\
      "io.modelcontextprotocol/clientCapabilities":{}}}}\
      """;

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final Supplier<Endpoint> servers;
  private final @Nullable String tools;
  private final @Nullable String sessionKey;
  private final PrintStream out;
  private final Map<String, Thread> running = new ConcurrentHashMap<>();

  /** Requests whose answer nobody waits for any more. */
  private final Set<String> cancelled = ConcurrentHashMap.newKeySet();

  private volatile Endpoint server;
  private volatile @Nullable String begin;
  private volatile @Nullable String session;
  private volatile @Nullable String version;
  private volatile boolean closed;
  private @Nullable Thread listener;

  /**
   * @param servers finds a server, or starts one
   * @param tools the sets to offer; null: the usual ones
   * @param sessionKey of the sandbox that is used when none is named; null: the usual one
   */
  McpBridge(
      Supplier<Endpoint> servers,
      @Nullable String tools,
      @Nullable String sessionKey,
      PrintStream out) {
    this.servers = servers;
    this.tools = tools;
    this.sessionKey = sessionKey;
    this.out = out;
    this.server = servers.get();
  }

  /** Refuses sets of tools that the server does not have; whether it can be asked is seen later. */
  void requireTools() throws InterruptedException {
    if (tools == null) {
      return;
    }
    try {
      HttpResponse<InputStream> response =
          http.send(post(server, DISCOVER, JSON.readTree(DISCOVER)), BodyHandlers.ofInputStream());
      try (InputStream body = response.body()) {
        JsonNode error = JSON.readTree(body).path("error");
        if (error.path("code").asInt() == INVALID_PARAMS) {
          throw CommandFailure.usage("--tools " + tools + ": " + error.path("message").asText());
        }
      }
    } catch (IOException e) {
      // The client's first request meets the same, and is answered with it.
    }
  }

  /** Serves until the input ends; what was asked before may take a moment longer. */
  void run(InputStream in) throws IOException, InterruptedException {
    var lines = new InputLines(in, MAX_MESSAGE);
    for (InputLines.Line line; (line = lines.next()) != null; ) {
      if (line.tooLong()) {
        write(error(null, BAD_REQUEST, "a message has at most " + MAX_MESSAGE + " bytes"));
      } else if (!line.text().isBlank()) {
        accept(line.text());
      }
    }
    long end = System.nanoTime() + GRACE.toNanos();
    for (Thread request : running.values()) {
      request.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())));
    }
  }

  private void accept(String line) throws InterruptedException {
    JsonNode message;
    try {
      message = JSON.readTree(line);
    } catch (JsonProcessingException e) {
      write(error(null, PARSE_ERROR, "not JSON"));
      return;
    }
    if (!message.isObject()) {
      write(error(null, BAD_REQUEST, "a message is an object, one on a line"));
      return;
    }
    JsonNode id = message.get("id");
    String method = message.path("method").asText();
    if (method.equals("notifications/cancelled")) {
      cancel(line, message);
    } else if (id == null || !message.has("method") || method.equals("initialize")) {
      // In the order in which they came: what follows builds on them.
      carry(line, message);
    } else {
      Thread request =
          Thread.ofVirtual()
              .name("mcp-" + method)
              .unstarted(
                  () -> {
                    try {
                      carry(line, message);
                    } catch (InterruptedException cancelled) {
                      // Nobody waits for an answer.
                    } finally {
                      running.remove(id.toString());
                      cancelled.remove(id.toString());
                    }
                  });
      cancelled.remove(id.toString());
      running.put(id.toString(), request);
      request.start();
    }
  }

  private void cancel(String line, JsonNode message) throws InterruptedException {
    String id = message.at("/params/requestId").toString();
    Thread request = running.get(id);
    if (request != null) {
      cancelled.add(id);
    }
    if (session != null) {
      carry(line, message);
    } else if (request != null) {
      request.interrupt();
    }
  }

  private void carry(String line, JsonNode message) throws InterruptedException {
    try {
      send(line, message, true);
    } catch (IOException | CommandFailure e) {
      fail(message.get("id"), "the server at " + server + " cannot be reached: " + reason(e));
    }
  }

  private static String reason(Exception e) {
    if (e.getMessage() != null) {
      return e.getMessage();
    }
    return e instanceof ConnectException ? "nothing listens there" : e.getClass().getSimpleName();
  }

  private void send(String line, JsonNode message, boolean again)
      throws IOException, InterruptedException {
    Endpoint used = server;
    HttpResponse<InputStream> response;
    try {
      response = http.send(post(used, line, message), BodyHandlers.ofInputStream());
    } catch (IOException e) {
      // Only a server that was never connected to cannot have begun it.
      if (message.path("method").asText().equals("tools/call")
          && !(e instanceof ConnectException)
          && !closed) {
        fail(message.get("id"), LOST);
        return;
      }
      if (!again || closed) {
        throw e;
      }
      reconnect(used, true);
      send(line, message, false);
      return;
    }
    boolean lost = response.statusCode() == 404 && session != null && !isStateless(message);
    if (lost && again) {
      response.body().close();
      reconnect(used, false);
      send(line, message, false);
      return;
    }
    if (message.path("method").asText().equals("initialize")) {
      begin = line;
      joined(response);
    }
    pass(response, message);
  }

  /** Finds a server again and begins the client's session there anew. */
  private synchronized void reconnect(Endpoint lost, boolean gone)
      throws IOException, InterruptedException {
    if (gone && server.equals(lost)) {
      server = servers.get();
    }
    String first = begin;
    if (first != null) {
      JsonNode initialize = JSON.readTree(first);
      session = null;
      HttpResponse<InputStream> response =
          http.send(post(server, first, initialize), BodyHandlers.ofInputStream());
      response.body().close();
      joined(response);
    }
  }

  private void joined(HttpResponse<InputStream> response) {
    response
        .headers()
        .firstValue("Mcp-Session-Id")
        .ifPresent(
            id -> {
              session = id;
              version = "2025-11-25";
              listen();
            });
  }

  private HttpRequest post(Endpoint to, String line, JsonNode message) {
    HttpRequest.Builder request =
        request(to)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(line, StandardCharsets.UTF_8));
    if (isStateless(message)) {
      JsonNode params = message.path("params");
      header(request, "MCP-Protocol-Version", params.path("_meta").path(META_VERSION));
      header(request, "Mcp-Method", message.path("method"));
      header(request, "Mcp-Name", params.has("name") ? params.path("name") : params.path("uri"));
    } else {
      ofSession(request);
    }
    return request.build();
  }

  private HttpRequest.Builder request(Endpoint to) {
    String query =
        tools == null
            ? ""
            : "?tools=" + URLEncoder.encode(tools, StandardCharsets.UTF_8).replace("+", "%20");
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(to.address() + "/mcp" + query))
            .header("Authorization", "Bearer " + to.token())
            .header("Accept", "application/json, text/event-stream");
    if (sessionKey != null) {
      request.header("X-Session-ID", sessionKey);
    }
    return request;
  }

  private void ofSession(HttpRequest.Builder request) {
    String id = session;
    String spoken = version;
    if (id != null && spoken != null) {
      request.header("Mcp-Session-Id", id).header("MCP-Protocol-Version", spoken);
    }
  }

  private static boolean isStateless(JsonNode message) {
    return message.path("params").path("_meta").has(META_VERSION);
  }

  // What does not fit a header goes in base64.
  private static void header(HttpRequest.Builder request, String name, JsonNode value) {
    if (!value.isTextual()) {
      return;
    }
    String text = value.textValue();
    boolean plain = text.equals(text.strip()) && text.chars().allMatch(c -> c >= ' ' && c < 127);
    request.header(
        name,
        plain
            ? text
            : "=?base64?"
                + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8))
                + "?=");
  }

  /** Passes on what a server answers, to its end. */
  private void pass(HttpResponse<InputStream> response, JsonNode message)
      throws IOException, InterruptedException {
    JsonNode id = message.get("id");
    String type = response.headers().firstValue("Content-Type").orElse("");
    try (InputStream body = response.body()) {
      if (type.startsWith("text/event-stream")) {
        if (id != null && !isAnswered(body, id)) {
          fail(id, LOST);
        }
        return;
      }
      String text = new String(body.readAllBytes(), StandardCharsets.UTF_8);
      if (id == null || !message.has("method")) {
        return;
      }
      JsonNode answer = text.isEmpty() ? JSON.createObjectNode() : JSON.readTree(text);
      if (answer.has("jsonrpc")) {
        write(answer);
      } else {
        fail(id, answer.path("detail").asText("HTTP " + response.statusCode()));
      }
    }
  }

  /**
   * Passes on a stream, and what follows of it where it broke off, up to the answer: a session goes
   * on with what it was asked for when a connection is lost.
   */
  private boolean isAnswered(InputStream body, JsonNode id) throws InterruptedException {
    String begun = session;
    var place = new Place(id);
    var retries = new Retries();
    try {
      events(body, place);
    } catch (IOException broken) {
      // The rest is asked for.
    }
    while (!place.answered
        && place.last != null
        && begun != null
        && begun.equals(session)
        && !closed
        && !cancelled.contains(id.toString())
        && retries.again()) {
      try {
        if (!resume(place, retries)) {
          return false;
        }
      } catch (IOException broken) {
        // Again, for as long as there is patience.
      }
    }
    return place.answered;
  }

  /** How far a stream went. For one thread. */
  private static final class Place {
    private final @Nullable JsonNode awaited;
    private @Nullable String last;
    private boolean answered;

    /**
     * @param awaited the id of the request that it answers; null: of none
     */
    Place(@Nullable JsonNode awaited) {
      this.awaited = awaited;
    }
  }

  /**
   * Passes on what follows in a stream, as far as that comes.
   *
   * @return false where there is nothing to be resumed
   */
  private boolean resume(Place place, Retries retries) throws IOException, InterruptedException {
    HttpRequest.Builder request = request(server).GET();
    ofSession(request);
    if (place.last != null) {
      request.header("Last-Event-ID", place.last);
    }
    HttpResponse<InputStream> response;
    try {
      response = http.send(request.build(), BodyHandlers.ofInputStream());
    } catch (ConnectException e) {
      // On this machine there is no way to be lost: the server is gone, and its sessions with it.
      if (HERE.contains(String.valueOf(server.address().getHost()))) {
        return false;
      }
      throw e;
    }
    try (InputStream body = response.body()) {
      if (response.statusCode() >= 500) {
        throw new IOException("whoever stands before the server does not reach it");
      }
      if (response.statusCode() == 409) {
        throw new IOException("the server does not know yet that the connection before was lost");
      }
      if (response.statusCode() != 200) {
        return false;
      }
      retries.connected();
      events(body, place);
      return true;
    }
  }

  private void events(InputStream body, Place place) throws IOException {
    var lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
    // It is resumed behind what was passed on, not behind what was only announced.
    String current = place.last;
    for (String line; (line = lines.readLine()) != null; ) {
      if (line.startsWith("id: ")) {
        current = line.substring("id: ".length());
      } else if (line.startsWith("data: {")) {
        JsonNode message = JSON.readTree(line.substring("data: ".length()));
        // A server that stops says so in an event of its own, which is none of MCP.
        if (message.has("jsonrpc")) {
          JsonNode id = place.awaited;
          place.answered |= id != null && !message.has("method") && id.equals(message.get("id"));
          write(message);
        }
        place.last = current;
      } else if (line.isEmpty()) {
        place.last = current;
      }
    }
  }

  /** Passes on what belongs to no request, for as long as the session lives. */
  private synchronized void listen() {
    if (listener != null) {
      listener.interrupt();
    }
    String id = session;
    listener =
        Thread.ofVirtual()
            .name("mcp-listen")
            .start(
                () -> {
                  try {
                    var place = new Place(null);
                    var retries = new Retries();
                    while (!closed && id != null && id.equals(session)) {
                      if (!listenOnce(place, retries) || !retries.again()) {
                        return;
                      }
                    }
                  } catch (InterruptedException over) {
                    // The next request finds out whether the server is gone.
                  }
                });
  }

  /** False where the server does not want to be listened to. */
  private boolean listenOnce(Place place, Retries retries) throws InterruptedException {
    try {
      return resume(place, retries);
    } catch (IOException broken) {
      return true;
    }
  }

  private void fail(@Nullable JsonNode id, String text) {
    if (!closed && (id == null || !cancelled.contains(id.toString()))) {
      write(error(id, SERVER_ERROR, text));
    }
  }

  private static ObjectNode error(@Nullable JsonNode id, int code, String text) {
    ObjectNode message = JSON.createObjectNode().put("jsonrpc", "2.0");
    message.set("id", id == null ? message.nullNode() : id);
    message.putObject("error").put("code", code).put("message", text);
    return message;
  }

  private synchronized void write(JsonNode message) {
    out.print(message.toString() + "\n");
    out.flush();
  }

  /** Ends the session, and with it all that it still runs. */
  @Override
  public void close() {
    closed = true;
    running.values().forEach(Thread::interrupt);
    if (session != null) {
      HttpRequest.Builder request = request(server).DELETE();
      ofSession(request);
      try {
        http.send(request.build(), BodyHandlers.discarding());
      } catch (IOException gone) {
        // Then so is the session.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    http.shutdownNow();
  }
}
