package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class McpBridgeTest {
  private static final String CALL =
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"Bash\"}}\n";
  private static final String ANSWER = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}";

  private final List<HttpServer> servers = new ArrayList<>();
  private final Deque<Endpoint> endpoints = new ArrayDeque<>();
  private final AtomicInteger calls = new AtomicInteger();

  @AfterEach
  void stop() {
    servers.forEach(server -> server.stop(0));
  }

  @Test
  void aServerThatStopsBeforeItAnswersLeavesAnErrorAndNothingElse() throws Exception {
    serve(
        exchange ->
            respond(
                exchange,
                "text/event-stream",
                "event: failure\ndata: {\"code\":\"shutting_down\",\"status\":503}\n\n"));

    assertThat(bridged())
        .singleElement()
        .satisfies(line -> assertThat(line).contains("\"id\":7", "\"error\"", "may have run"));
  }

  @Test
  void aCallThatMayHaveRunIsNotMadeAgain() throws Exception {
    serve(HttpExchange::close);
    serve(exchange -> respond(exchange, "application/json", ANSWER));

    assertThat(bridged())
        .singleElement()
        .satisfies(line -> assertThat(line).contains("\"id\":7", "\"error\"", "may have run"));
    assertThat(calls).hasValue(1);
  }

  @Test
  void aCallThatReachedNobodyIsMadeToTheServerThatIsFoundInstead() throws Exception {
    serve(HttpExchange::close);
    servers.getFirst().stop(0);
    serve(exchange -> respond(exchange, "application/json", ANSWER));

    assertThat(bridged()).containsExactly(ANSWER);
    assertThat(calls).hasValue(1);
  }

  @Test
  void whyAServerCannotBeReachedIsSaidInWords() throws Exception {
    serve(HttpExchange::close);
    servers.getFirst().stop(0);
    endpoints.add(endpoints.getFirst());

    assertThat(bridged())
        .singleElement()
        .satisfies(
            line ->
                assertThat(line)
                    .contains("\"id\":7", "the server at http://127.0.0.1:", "cannot be reached")
                    .doesNotContain("Exception"));
  }

  @Test
  void aCallThatWasCancelledIsNotAnswered() throws Exception {
    var cancelled = new CountDownLatch(1);
    serve(
        exchange -> {
          String message =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          if (message.contains("\"initialize\"")) {
            exchange.getResponseHeaders().set("Mcp-Session-Id", "s");
            respond(exchange, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
          } else if (message.contains("tools/call")) {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            await(cancelled);
            exchange.close();
          } else {
            boolean called = message.contains("notifications/cancelled");
            exchange.sendResponseHeaders(called ? 202 : 405, -1);
            exchange.close();
            if (called) {
              cancelled.countDown();
            }
          }
        });

    assertThat(
            bridged(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n"
                    + CALL
                    + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                    + "\"params\":{\"requestId\":7}}\n"))
        .singleElement()
        .satisfies(line -> assertThat(line).contains("\"id\":1"));
    assertThat(cancelled.getCount()).isZero();
  }

  /** The call goes on in its session, whose answer waits. */
  @Test
  void theRestOfAStreamThatBrokeOffIsFetched() throws Exception {
    String news = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}";
    String late = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}";
    var resumed = new AtomicInteger();
    serve(
        exchange -> {
          String message =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          String last = exchange.getRequestHeaders().getFirst("Last-Event-ID");
          if (message.contains("\"initialize\"")) {
            exchange.getResponseHeaders().set("Mcp-Session-Id", "s");
            respond(exchange, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
          } else if (message.contains("tools/call")) {
            // Of the second event only the beginning comes.
            breakOff(exchange, "id: 1.0\ndata: " + news + "\n\nid: 1.1\n");
          } else if ("1.0".equals(last)) {
            switch (resumed.incrementAndGet()) {
              case 1 -> breakOff(exchange, "");
              case 2 -> {
                exchange.sendResponseHeaders(502, -1);
                exchange.close();
              }
              default -> breakOff(exchange, "id: 1.1\ndata: " + late + "\n\n");
            }
          } else if ("1.1".equals(last)) {
            respond(exchange, "text/event-stream", "id: 1.2\ndata: " + ANSWER + "\n\n");
          } else {
            exchange.sendResponseHeaders(405, -1);
            exchange.close();
          }
        });

    assertThat(
            bridged(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n" + CALL))
        .containsExactly("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", news, late, ANSWER);
    assertThat(resumed).hasValue(3);
  }

  @Test
  void whatTheServerNoLongerHasIsLost() throws Exception {
    serve(
        exchange -> {
          String message =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          if (message.contains("\"initialize\"")) {
            exchange.getResponseHeaders().set("Mcp-Session-Id", "s");
            respond(exchange, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
          } else if (message.contains("tools/call")) {
            breakOff(exchange, "id: 1.0\ndata: \n\n");
          } else {
            exchange.sendResponseHeaders(404, -1);
            exchange.close();
          }
        });

    assertThat(
            bridged(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n" + CALL))
        .hasSize(2)
        .last()
        .satisfies(line -> assertThat(line).contains("\"id\":7", "may have run"));
  }

  @Test
  void whoIsTakenForAnotherThatListensTriesAgain() throws Exception {
    String news = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
    var asked = new AtomicInteger();
    var told = new CountDownLatch(1);
    serve(
        exchange -> {
          String message =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          if (message.contains("\"initialize\"")) {
            exchange.getResponseHeaders().set("Mcp-Session-Id", "s");
            respond(exchange, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
          } else if (message.contains("tools/call")) {
            await(told);
            respond(exchange, "application/json", ANSWER);
          } else if (exchange.getRequestMethod().equals("GET")) {
            switch (asked.incrementAndGet()) {
              case 1 -> exchange.sendResponseHeaders(409, -1);
              case 2 -> respond(exchange, "text/event-stream", "id: 0.1\ndata: " + news + "\n\n");
              default -> {
                told.countDown();
                exchange.sendResponseHeaders(405, -1);
              }
            }
            exchange.close();
          } else {
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
          }
        });

    assertThat(
            bridged(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n" + CALL))
        .contains(news, ANSWER);
  }

  /** Ends the connection in the middle of an answer. */
  private static void breakOff(HttpExchange exchange, String text) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
    exchange.sendResponseHeaders(200, 0);
    exchange.getResponseBody().write(text.getBytes(StandardCharsets.UTF_8));
    exchange.getResponseBody().flush();
    throw new IOException("as a connection that is lost");
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }

  @Test
  void setsOfToolsThatTheServerHasNotAreRefusedAtOnce() throws Exception {
    serve(
        exchange ->
            respond(
                exchange,
                "application/json",
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32602,"
                    + "\"message\":\"tools must be some of code, files\"}}"));
    var nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
    try (var bridge = new McpBridge(endpoints::remove, "code, nope", null, nowhere)) {
      assertThatExceptionOfType(CommandFailure.class)
          .isThrownBy(bridge::requireTools)
          .withMessage("--tools code, nope: tools must be some of code, files");
    }
  }

  private List<String> bridged() throws Exception {
    return bridged(CALL);
  }

  private List<String> bridged(String input) throws Exception {
    var out = new ByteArrayOutputStream();
    try (var bridge =
        new McpBridge(
            endpoints::remove, null, null, new PrintStream(out, true, StandardCharsets.UTF_8))) {
      bridge.run(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
    }
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private void serve(HttpHandler handler) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          calls.incrementAndGet();
          handler.handle(exchange);
        });
    server.setExecutor(Thread::startVirtualThread);
    server.start();
    servers.add(server);
    endpoints.add(
        new Endpoint(URI.create("http://127.0.0.1:" + server.getAddress().getPort()), "token"));
  }

  private static void respond(HttpExchange exchange, String type, String text) throws IOException {
    exchange.getRequestBody().readAllBytes();
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
