package dev.carrel.server.flat;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.RawClient;
import dev.carrel.server.SharedServer;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(120)
class FlatTerminalTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  // Of this process, whatever another one has left behind.
  private static final String SLEEP = "sleep 9" + ProcessHandle.current().pid();
  private static final String SESSION = "flat-terminal";
  private static final Caller ADA = Caller.user("acme", "ada");

  private final LiveServer server;
  private final List<Client> clients = new ArrayList<>();

  FlatTerminalTest(LiveServer server) {
    this.server = server;
  }

  @AfterEach
  void leave() {
    clients.forEach(client -> client.socket().abort());
    Eventually.until("no shell is left", () -> running().isEmpty());
  }

  private SandboxId sandbox() {
    try {
      return server.control().creates().usual(ADA, SESSION).id();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Exec> running() {
    return server.control().execs().list(ADA, sandbox()).stream().filter(Exec::running).toList();
  }

  private static void ada(WebSocket.Builder builder) {
    builder.header("Authorization", "Bearer " + LiveServer.ADA).header("X-Session-ID", SESSION);
  }

  private Client open() {
    return open(FlatTerminalTest::ada);
  }

  private Client open(Consumer<WebSocket.Builder> more) {
    var client = new Client();
    WebSocket.Builder builder = HttpClient.newHttpClient().newWebSocketBuilder();
    more.accept(builder);
    URI uri = URI.create("ws://127.0.0.1:" + server.port() + "/v1/terminal/ws");
    client.socket = builder.buildAsync(uri, client).join();
    clients.add(client);
    return client;
  }

  private void refused(int status, Consumer<WebSocket.Builder> more) {
    assertThatThrownBy(() -> open(more))
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(
            WebSocketHandshakeException.class,
            e -> assertThat(e.getResponse().statusCode()).isEqualTo(status));
  }

  @Test
  void keysSizesAndPingsGoInAndTheScreenComesOut() {
    Client client = open();
    client.type("stty size\n").sees("24 80");
    client.say("{\"type\":\"resize\",\"data\":{\"rows\":41,\"cols\":101}}");
    client.type("stty size\n").sees("41 101");
    client.say("{\"type\":\"ping\"}").hears("{\"type\":\"pong\"}");
    client.type("exit 3\n");
    assertThat(client.closed()).isEqualTo("1000 exited 3 returned");
    String records =
        server.get("/api/v1/audit?sandbox=" + sandbox() + "&action=terminal.attach").text();
    assertThat(records).contains("terminal.attach");
  }

  @Test
  void whoLeavesEndsTheShellAndAllThatRunsInIt() {
    Client client = open();
    client.type(SLEEP + " & echo be''gun\n").sees("begun");
    assertThat(running()).hasSize(1);
    // What the shell began may not be what it is to become yet.
    Eventually.until("it sleeps", FlatTerminalTest::sleeps);
    client.socket().abort();
    Eventually.until("the shell is gone", () -> running().isEmpty());
    Eventually.until("what it started is gone", () -> !sleeps());
    Client polite = open();
    polite.type("echo be''gun\n").sees("begun");
    polite.socket().sendClose(WebSocket.NORMAL_CLOSURE, "").join();
    Eventually.until("the other shell is gone", () -> running().isEmpty());
  }

  @Test
  void itsSandboxIsInUseUntilItIsClosed() throws InterruptedException {
    String session = "flat-terminal-in-use";
    Client client =
        open(
            builder ->
                builder
                    .header("Authorization", "Bearer " + LiveServer.ADA)
                    .header("X-Session-ID", session));
    client.type("echo be''gun\n").sees("begun");
    String inUse = "/api/v1/sandboxes/" + server.control().creates().usual(ADA, session).id();
    String idle = server.sandbox();
    server.patch(inUse, "{\"idle_timeout_seconds\":1}");
    server.patch(idle, "{\"idle_timeout_seconds\":3}");
    Eventually.until("it is seen who is idle", () -> !status(idle).equals("running"));
    assertThat(status(inUse)).isEqualTo("running");
    client.socket().abort();
    Eventually.until("this one is idle too", () -> !status(inUse).equals("running"));
    server.delete(inUse);
    server.delete(idle);
  }

  private String status(String sandbox) {
    return server.get(sandbox).json().get("status").asText();
  }

  private static boolean sleeps() {
    return ProcessHandle.allProcesses()
        .flatMap(process -> process.info().commandLine().stream())
        .anyMatch(line -> line.endsWith(SLEEP));
  }

  @Test
  void outputThatIsNoTextBreaksNothing() {
    Client client = open();
    client.type("printf '\\377\\300\\200<\\355\\240\\200>\\000\\033]0;\"\\\\x\\007'; echo ra''w\n");
    client.sees("raw");
    assertThat(client.screen()).contains("\uFFFD", "<", "\u0000\u001b]0;\"\\x\u0007");
    client.type("printf '\\303'; sleep 0.3; printf '\\251t\\303'; echo; echo c''ut\n").sees("cut");
    assertThat(client.screen()).contains("ét\uFFFD");
  }

  @Test
  void muchOutputComesWholeToAReaderThatTakesIt() {
    Client client = open();
    client.type("head -c 6000000 /dev/zero | tr '\\0' x; echo; echo f''in\n").sees("fin");
    assertThat(client.screen().chars().filter(c -> c == 'x').count())
        .isGreaterThanOrEqualTo(6000000);
  }

  @Test
  void secretsAreMasked() {
    String secret = "flat-terminal-value-4711";
    server.post(
        "/api/v1/vault/secrets", "{\"name\":\"FLAT_TERMINAL\",\"value\":\"" + secret + "\"}");
    server.post(
        "/api/v1/sandboxes/" + sandbox() + "/exec",
        "{\"command\":\"true\",\"secrets\":[\"FLAT_TERMINAL\"]}");
    Client client = open();
    client.type("echo flat-term''inal-value-4711; echo to''ld\n").sees("told");
    assertThat(client.screen()).doesNotContain(secret).contains("REDACTED");
  }

  @Test
  void whatIsNoMessageIsToldAndEndsNothing() {
    Client client = open();
    for (String wrong :
        List.of(
            "{",
            "[]",
            "null",
            "",
            "{}",
            "{\"type\":7}",
            "{\"type\":\"input\"}",
            "{\"type\":\"input\",\"data\":7}",
            "{\"type\":\"input\",\"data\":\"\\ud800\"}",
            "{\"type\":\"resize\"}",
            "{\"type\":\"resize\",\"data\":\"x\"}",
            "{\"type\":\"resize\",\"data\":{\"rows\":0,\"cols\":1}}",
            "{\"type\":\"resize\",\"data\":{\"rows\":1e99,\"cols\":1}}",
            "{\"a\":".repeat(5000) + "1" + "}".repeat(5000))) {
      client.forget();
      client.say(wrong).hears("{\"type\":\"error\",\"data\":\"invalid message format");
    }
    client.forget();
    client.socket().sendBinary(ByteBuffer.wrap(new byte[] {1}), true).join();
    client.hears("invalid message format");
    client.say("{\"type\":\"dance\"}").hears("\"unknown message type\"");
    client.type("echo st''ill\n").sees("still");
  }

  @Test
  void framesThatBreakTheRulesOrAreTooLongEndTheShell() throws IOException {
    for (byte[] frame :
        new byte[][] {
          {(byte) 0x81, 1, 'x'}, // without a mask
          {(byte) 0xC1, (byte) 0x81, 0, 0, 0, 0, 'x'}, // with an extension
          {(byte) 0x81, (byte) 0x81, 0, 0, 0, 0, -1}, // no UTF-8
          ByteBuffer.allocate(10).put((byte) 0x81).put((byte) 0xFF).putLong(-1).array(), // endless
        }) {
      try (var raw = new RawClient(server.port())) {
        raw.send(
            "GET /v1/terminal/ws HTTP/1.1\r\nHost: localhost\r\nX-Session-ID: "
                + SESSION
                + "\r\nAuthorization: Bearer "
                + LiveServer.ADA
                + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
        assertThat(raw.readHead()).startsWith("HTTP/1.1 101");
        raw.send(new String(frame, ISO_8859_1));
        Eventually.until("the shell is gone", () -> running().isEmpty());
      }
    }
    Client client = open();
    CompletableFuture<WebSocket> sending =
        client.socket().sendText("x".repeat(1024 * 1024 + 1), true);
    assertThat(client.closed()).startsWith("1009 ");
    assertThat(sending).isNotCancelled();
  }

  @Test
  void nobodyComesInWithoutATokenOrFromAForeignPage() {
    refused(401, builder -> {});
    refused(401, builder -> builder.header("Authorization", "Basic eDp5"));
    refused(401, builder -> builder.header("Authorization", "Bearer nonsense"));
    refused(401, builder -> builder.subprotocols(TerminalTalk.PROTOCOL, "carrel.token.nonsense"));
    for (String origin : List.of("https://example.com", "null", "http://127.0.0.1:1")) {
      refused(
          403,
          builder -> {
            ada(builder);
            builder.header("Origin", origin);
          });
    }
    refused(
        400,
        builder -> {
          ada(builder);
          builder.subprotocols("other.v1");
        });
    refused(
        400,
        builder -> {
          ada(builder);
          builder.header("X-Workspace", "/none");
        });
    assertThat(server.get("/v1/terminal/ws").text()).contains("invalid request: Upgrade");
    assertThat(running()).isEmpty();
  }

  @Test
  void theTokenMayComeAsASubprotocol() {
    Client client =
        open(
            builder ->
                builder
                    .header("X-Session-ID", SESSION)
                    .subprotocols(TerminalTalk.PROTOCOL, "carrel.token." + LiveServer.ADA));
    assertThat(client.socket().getSubprotocol()).isEqualTo(TerminalTalk.PROTOCOL);
    client.type("echo w''ell\n").sees("well");
  }

  @Test
  void theSameSessionOfAnotherTenantIsAnotherComputer() {
    open().type("echo mine > flat-terminal-file; echo wri''tten\n").sees("written");
    Client bob =
        open(
            builder ->
                builder
                    .header("Authorization", "Bearer " + LiveServer.BOB)
                    .header("X-Session-ID", SESSION));
    bob.type("cat flat-terminal-file; echo lo''oked\n").sees("looked");
    assertThat(bob.screen()).doesNotContain("mine");
    assertThat(running()).hasSize(1);
  }

  /** Somebody with a shell. */
  private static final class Client implements WebSocket.Listener {
    private final StringBuilder screen = new StringBuilder();
    private final StringBuilder texts = new StringBuilder();
    private final StringBuilder begun = new StringBuilder();
    private @Nullable String end;
    private @Nullable WebSocket socket;

    WebSocket socket() {
      return Objects.requireNonNull(socket);
    }

    Client say(String text) {
      socket().sendText(text, true).join();
      return this;
    }

    Client type(String keys) {
      return say(JSON.createObjectNode().put("type", "input").put("data", keys).toString());
    }

    Client sees(String text) {
      Eventually.until("the screen shows " + text, () -> screen().contains(text));
      return this;
    }

    void hears(String text) {
      Eventually.until("is told " + text, () -> texts().contains(text));
    }

    synchronized void forget() {
      texts.setLength(0);
    }

    synchronized String screen() {
      return screen.toString();
    }

    private synchronized String texts() {
      return texts.toString();
    }

    private synchronized @Nullable String end() {
      return end;
    }

    String closed() {
      Eventually.until("closed", () -> end() != null);
      return String.valueOf(end());
    }

    @Override
    public void onOpen(WebSocket webSocket) {
      webSocket.request(Long.MAX_VALUE);
    }

    @Override
    public synchronized @Nullable CompletionStage<?> onText(
        WebSocket webSocket, CharSequence data, boolean last) {
      begun.append(data);
      if (last) {
        heard(begun.toString());
        begun.setLength(0);
      }
      return null;
    }

    private void heard(String text) {
      JsonNode message;
      try {
        message = JSON.readTree(text);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      if (message.get("type").asText().equals("output")) {
        screen.append(message.get("data").textValue());
      } else {
        texts.append(text);
      }
    }

    @Override
    public synchronized @Nullable CompletionStage<?> onClose(
        WebSocket webSocket, int code, String reason) {
      end = code + " " + reason;
      return null;
    }

    @Override
    public synchronized void onError(WebSocket webSocket, Throwable error) {
      end = error.toString();
    }
  }
}
