package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An app in a sandbox, as clients of HTTP, WebSocket and server-sent events reach it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class AppsIT {
  private static final int PORT = 8000;

  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .followRedirects(HttpClient.Redirect.NORMAL)
          .build();
  private ServerProcess server;
  private Api api;
  private Box box;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    server = Carrel.start(folder, Map.of());
    api = new Api(server.address(), server.token());
    box = api.create("{\"memory_mb\":128}");
    try (InputStream program = AppsIT.class.getResourceAsStream("/clients/app.py")) {
      box.put("app.py", new String(program.readAllBytes(), StandardCharsets.UTF_8));
    }
    api.post(
        box.path() + "/exec",
        Api.object().put("command", "python3 app.py " + PORT).put("background", true));
    assertThat(box.exec("until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done"))
        .isNotNull();
  }

  @AfterAll
  void end() throws Exception {
    box.close();
    api.close();
    server.close();
    client.close();
  }

  private String app() {
    return "/app/" + box.id() + "/" + PORT + "/";
  }

  private String link() {
    JsonNode link =
        api.post(
                box.path() + "/ports/" + PORT + "/link", Api.object().put("expires_in_seconds", 60))
            .json();
    return link.get("url").asText();
  }

  private HttpResponse<String> get(URI uri) throws Exception {
    var request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(60)).build();
    return client.send(request, BodyHandlers.ofString());
  }

  @Test
  void pagesAreReachedByTokenAndByLink() throws Exception {
    JsonNode seen = api.get(app() + "a/b?c=d").json();
    assertThat(seen.get("path").asText()).isEqualTo("/a/b?c=d");
    assertThat(seen.get("headers").get("Host").asText()).isEqualTo("localhost:8000");
    assertThat(seen.toString()).doesNotContain(server.token());
    HttpResponse<String> linked = get(URI.create(link() + "x"));
    assertThat(linked.statusCode()).isEqualTo(200);
    assertThat(linked.body()).contains("\"path\": \"/x\"");
    assertThat(linked.headers().firstValue("Set-Cookie").orElse(""))
        .startsWith("carrel-app-sid=7; Path=" + app());
    assertThat(linked.headers().firstValue("Content-Security-Policy").orElse(""))
        .startsWith("sandbox ");
  }

  @Test
  void bodiesAndRedirectsComeBack() throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create(link()))
            .POST(BodyPublishers.ofString("said"))
            .timeout(Duration.ofSeconds(60))
            .build();
    HttpResponse<String> answer = client.send(request, BodyHandlers.ofString());
    assertThat(answer.statusCode()).isEqualTo(201);
    assertThat(answer.body()).isEqualTo("SAID");
    assertThat(get(URI.create(link() + "away")).body()).contains("/seen?by=redirect");
  }

  @Test
  void eventsArriveWhileTheyAreMade() throws Exception {
    var request = HttpRequest.newBuilder(URI.create(link() + "events")).build();
    HttpResponse<InputStream> answer = client.send(request, BodyHandlers.ofInputStream());
    try (var lines =
        new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8))) {
      // There is no end of them: whoever waits for the end never sees one.
      assertThat(lines.readLine()).isEqualTo("data: 0");
      assertThat(lines.readLine()).isEmpty();
      assertThat(lines.readLine()).isEqualTo("data: 1");
    }
  }

  @Test
  void aWebSocketIsEchoed() throws Exception {
    BlockingQueue<String> texts = new LinkedBlockingQueue<>();
    var address = URI.create(link().replace("http://", "ws://") + "ws");
    WebSocket socket =
        client
            .newWebSocketBuilder()
            .connectTimeout(Duration.ofSeconds(60))
            .buildAsync(address, new Collecting(texts))
            .get(60, TimeUnit.SECONDS);
    String large = "ä".repeat(20_000);
    socket.sendText("hello", true).get(60, TimeUnit.SECONDS);
    assertThat(texts.poll(60, TimeUnit.SECONDS)).isEqualTo("hello");
    socket.sendText(large, true).get(60, TimeUnit.SECONDS);
    assertThat(texts.poll(60, TimeUnit.SECONDS)).isEqualTo(large);
    socket.abort();
  }

  @Test
  void aPausedSandboxGoesOnWhenItsAppIsUsed() {
    assertThat(api.post(box.path() + "/pause", Api.object()).status()).isEqualTo(200);
    assertThat(api.get(app() + "again").text()).contains("/again");
    assertThat(api.get(box.path()).json().get("status").asText()).isEqualTo("running");
  }

  @Test
  void aClosedPortSaysWhatToDo() {
    Api.Answer answer = api.get("/app/" + box.id() + "/8001/");
    assertThat(answer.status()).isEqualTo(502);
    assertThat(answer.json().get("code").asText()).isEqualTo("port_closed");
    assertThat(answer.json().get("hint").asText()).contains("start a server there");
  }

  /** Keeps whole texts. */
  private static final class Collecting implements WebSocket.Listener {
    private final BlockingQueue<String> texts;
    private final StringBuilder begun = new StringBuilder();

    Collecting(BlockingQueue<String> texts) {
      this.texts = texts;
    }

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
      begun.append(data);
      if (last) {
        texts.add(begun.toString());
        begun.setLength(0);
      }
      socket.request(1);
      return null;
    }
  }
}
