package dev.carrel.server.flat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What of the flat API goes on for longer than an answer. */
@ExtendWith(SharedServer.class)
@Timeout(120)
class FlatTalkTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final LiveServer server;

  FlatTalkTest(LiveServer server) {
    this.server = server;
  }

  private JsonNode data(String path, String body) {
    Answer answer = server.post(path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer.json().path("data");
  }

  @Test
  void aCommandInTheBackgroundWritesToItsFile(@TempDir Path folder) {
    writesToItsFile("", "/workspace");
    writesToItsFile(",\"cwd\":\"" + folder + "/\"", folder.toString());
  }

  private void writesToItsFile(String cwd, String path) {
    JsonNode begun =
        data(
            "/v1/bash/exec",
            "{\"command\":\"echo $A; echo err >&2\",\"env\":{\"A\":\"b\"}"
                + ",\"run_in_background\":true"
                + cwd
                + "}");
    assertThat(begun.get("output").asText())
        .matches("Command started in background \\(PID: [1-9]\\d*\\)");
    assertThat(begun.get("exit_code").asInt()).isZero();
    String file = begun.get("output_file").asText();
    assertThat(file).startsWith(path + "/.logs/background_outputs/bg_").endsWith(".log");
    Eventually.until("the output is in " + file, () -> said(file).equals("b\nerr\n"));
  }

  private String said(String file) {
    Answer log = server.post("/v1/file/read", "{\"file\":\"" + file + "\"}");
    return log.json().at("/data/content").asText();
  }

  @Test
  void aStreamTellsLinesAsTheyComeAndThenTheEnd() throws IOException {
    data("/v1/bash/exec", "{\"command\":\"rm -rf gate\"}");
    String line = "echo one; while [ ! -e gate ]; do sleep 0.05; done; echo two >&2; exit 4";
    List<JsonNode> told = new ArrayList<>();
    try (BufferedReader events = stream(line, 60_000)) {
      // The second line is only said once the first was heard.
      told.add(next(events));
      data("/v1/file/mkdir", "{\"path\":\"gate\"}");
      told.add(next(events));
      told.add(next(events));
    }
    assertThat(told.get(0).toString())
        .isEqualTo("{\"event\":\"chunk\",\"data\":{\"data\":\"one\\n\",\"source\":\"stdout\"}}");
    assertThat(told.get(1).toString())
        .isEqualTo("{\"event\":\"chunk\",\"data\":{\"data\":\"two\\n\",\"source\":\"stderr\"}}");
    assertThat(told.get(2).get("event").asText()).isEqualTo("done");
    JsonNode done = told.get(2).get("data");
    assertThat(done.get("output").asText()).isEqualTo("one\ntwo\n");
    assertThat(done.get("exit_code").asInt()).isEqualTo(4);
    assertThat(done.get("timed_out").asBoolean(true)).isFalse();
    assertThat(done.get("truncated").asBoolean(true)).isFalse();
    assertThat(done.get("duration_ms").isIntegralNumber()).isTrue();
  }

  @Test
  void aStreamThatIsOutOfTimeSaysSo() throws IOException {
    try (BufferedReader events = stream("printf half; sleep 99 | cat", 1500)) {
      assertThat(next(events).at("/data/data").asText()).isEqualTo("half");
      JsonNode done = next(events);
      assertThat(done.get("event").asText()).isEqualTo("done");
      assertThat(done.at("/data/timed_out").asBoolean()).isTrue();
      assertThat(done.at("/data/output").asText())
          .isEqualTo("half\n<bash_metadata>\ncommand timed out after 1500ms\n</bash_metadata>");
    }
  }

  @Test
  void whoLeavesAStreamEndsItsCommand() throws IOException {
    data("/v1/bash/exec", "{\"command\":\"rm -f left\"}");
    String line = "trap 'touch left' EXIT; echo $$; while :; do sleep 0.05; done";
    String pid;
    try (BufferedReader events = stream(line, 60_000)) {
      pid = next(events).at("/data/data").asText().strip();
    }
    String alive = "{\"command\":\"kill -0 %s 2>&1; echo $?\"}".formatted(pid);
    Eventually.until(
        "command " + pid + " is gone",
        () -> !data("/v1/bash/exec", alive).get("output").asText().equals("0\n"));
  }

  @Test
  void aLongOutputIsCutAndSaysSo() {
    JsonNode ran =
        data("/v1/bash/exec", "{\"command\":\"head -c 1500000 /dev/zero | tr '\\\\0' x\"}");
    assertThat(ran.get("output").asText()).hasSize(1 << 20);
    assertThat(ran.get("truncated").asBoolean()).isTrue();
  }

  @Test
  void aStreamNeedsATokenToo() {
    HttpRequest request =
        HttpRequest.newBuilder(server.uri("/v1/bash/exec/stream"))
            .POST(BodyPublishers.ofString("{\"command\":\"id\"}"))
            .build();
    Answer answer = server.send(request);
    assertThat(answer.status()).isEqualTo(401);
    assertThat(answer.text())
        .isEqualTo("{\"code\":401,\"message\":\"missing authorization header\"}");
  }

  private BufferedReader stream(String line, int millis) {
    String body = JSON.createObjectNode().put("command", line).put("timeout_ms", millis).toString();
    var response = server.stream(server.live("/v1/bash/exec/stream", body));
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type").orElse(""))
        .startsWith("text/event-stream");
    return new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  private static JsonNode next(BufferedReader events) throws IOException {
    for (String line; (line = events.readLine()) != null; ) {
      assertThat(line).matches("|:.*|data: \\{.*");
      if (line.startsWith("data: ")) {
        return JSON.readTree(line.substring(6));
      }
    }
    throw new AssertionError("the stream ended");
  }

  @Test
  void aWebSocketAnswersPings() throws InterruptedException {
    var heard = new Texts();
    WebSocket socket = connect(heard, "Bearer " + LiveServer.ADA, null);
    socket.sendText("{\"type\":\"ping\"}", true).join();
    assertThat(heard.next()).isEqualTo("{\"type\":\"pong\"}");
    socket.sendText("{\"type\":", false).join();
    socket.sendPing(ByteBuffer.allocate(0)).join();
    socket.sendText("\"ping\"}", true).join();
    assertThat(heard.next()).isEqualTo("{\"type\":\"pong\"}");
    socket.sendText("{\"type\":\"dance\"}", true).join();
    assertThat(heard.next()).isEqualTo("{\"type\":\"error\",\"data\":\"unknown message type\"}");
    for (String wrong : List.of("{", "[]", "{\"type\":7}", "null", "")) {
      socket.sendText(wrong, true).join();
      assertThat(heard.next())
          .isEqualTo("{\"type\":\"error\",\"data\":\"invalid message format\"}");
    }
    socket.sendBinary(ByteBuffer.wrap(new byte[] {1}), true).join();
    assertThat(heard.next()).contains("invalid message format");
    socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
    assertThat(heard.next()).isEqualTo("closed 1000");
  }

  @Test
  void aMessageThatIsTooLongEndsTheTalk() throws InterruptedException {
    var heard = new Texts();
    WebSocket socket = connect(heard, "Bearer " + LiveServer.ADA, null);
    socket.sendText("x".repeat(40_000), false).join();
    socket.sendText("x".repeat(40_000), true).join();
    assertThat(heard.next()).startsWith("closed");
  }

  @Test
  void aWebSocketNeedsATokenAndNoForeignPage() {
    refused(401, null, null);
    refused(401, "Basic eDp5", null);
    refused(401, "Bearer nonsense", null);
    refused(403, "Bearer " + LiveServer.ADA, "https://example.com");
    refused(403, "Bearer " + LiveServer.ADA, "null");
    assertThat(server.get("/v1/ws").text()).contains("400", "invalid request: Upgrade");
  }

  private void refused(int status, @Nullable String token, @Nullable String origin) {
    assertThatThrownBy(() -> connect(new Texts(), token, origin))
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(
            WebSocketHandshakeException.class,
            e -> assertThat(e.getResponse().statusCode()).isEqualTo(status));
  }

  private WebSocket connect(Texts heard, @Nullable String token, @Nullable String origin) {
    WebSocket.Builder builder = HttpClient.newHttpClient().newWebSocketBuilder();
    if (token != null) {
      builder.header("Authorization", token);
    }
    if (origin != null) {
      builder.header("Origin", origin);
    }
    return builder
        .buildAsync(URI.create("ws://127.0.0.1:" + server.port() + "/v1/ws"), heard)
        .join();
  }

  /** What came. */
  private static final class Texts implements WebSocket.Listener {
    private final BlockingQueue<String> texts = new LinkedBlockingQueue<>();

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
      texts.add(data.toString());
      socket.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
      texts.add("closed " + code);
      return null;
    }

    @Override
    public void onError(WebSocket socket, Throwable error) {
      texts.add("closed: " + error);
    }

    String next() throws InterruptedException {
      return String.valueOf(texts.poll(60, TimeUnit.SECONDS));
    }
  }
}
