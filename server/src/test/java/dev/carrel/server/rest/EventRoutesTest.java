package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.WebSocket;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(120)
class EventRoutesTest {
  private final LiveServer server;

  EventRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void executionsAreToldAndTypesFiltered() throws IOException {
    String id = server.sandboxId();
    var request =
        server
            .request(
                "GET",
                "/api/v1/events?type=execution,resource&sandbox=" + id,
                BodyPublishers.noBody())
            .header("Accept", "text/event-stream")
            .build();
    try (var reader = new EventReader(server.stream(request).body())) {
      String sandbox = "/api/v1/sandboxes/" + id;
      server.post(sandbox + "/exec", "{\"command\":\"true\"}");
      server.post(sandbox + "/exec", "{\"command\":\"false\"}");
      server.post(sandbox + "/exec", "{\"command\":\"sleep 60\",\"timeout_seconds\":0.2}");
      for (String kind :
          List.of(
              "execution.started",
              "execution.completed",
              "execution.started",
              "execution.failed",
              "execution.started",
              "execution.timeout")) {
        LiveServer.Event event = reader.next(kind);
        assertThat(event.data().get("details").get("exec_id").asText()).startsWith("ex");
        assertThat(event.data().get("namespace").asText()).isEqualTo("default");
      }
    }
    String recent = "/api/v1/events?recent=2&type=execution&sandbox=" + id;
    assertThat(server.get(recent).json().get("events")).hasSize(2);
  }

  @Test
  void anotherTenantHearsNothing() {
    String id = server.sandboxId();
    server.post("/api/v1/sandboxes/" + id + "/exec", "{\"command\":\"true\"}");
    var asBob =
        server
            .request("GET", "/api/v1/events?recent=4096", BodyPublishers.noBody())
            .setHeader("Authorization", "Bearer " + LiveServer.BOB)
            .build();
    assertThat(server.send(asBob).text()).doesNotContain(id);
    var ofOne =
        server
            .request("GET", "/api/v1/events?recent=1&sandbox=" + id, BodyPublishers.noBody())
            .setHeader("Authorization", "Bearer " + LiveServer.BOB)
            .build();
    assertThat(server.send(ofOne).status()).isEqualTo(404);
  }

  @Test
  void aWebSocketTellsTheSameAndGoesOnWhereItWas() throws Exception {
    String id = server.sandboxId();
    String exec = "/api/v1/sandboxes/" + id + "/exec";
    var first = new Texts();
    WebSocket socket = connect("?type=execution&sandbox=" + id, LiveServer.ADA, first);
    server.post(exec, "{\"command\":\"true\"}");
    assertThat(first.next()).contains("execution.started");
    String completed = first.next();
    assertThat(completed).contains("execution.completed");
    socket.abort();

    server.post(exec, "{\"command\":\"false\"}");
    String seen = completed.replaceAll(".*\"id\":(\\d+).*", "$1");
    var second = new Texts();
    WebSocket again =
        connect("?type=execution&sandbox=" + id + "&after=" + seen, LiveServer.ADA, second);
    assertThat(second.next()).contains("execution.started");
    assertThat(second.next()).contains("execution.failed");
    again.sendClose(WebSocket.NORMAL_CLOSURE, "").get();
  }

  @Test
  void aWebSocketNeedsATokenToo() {
    assertThatThrownBy(() -> connect("", "wrong-token-0123456789", new Texts()))
        .isInstanceOf(ExecutionException.class);
  }

  private WebSocket connect(String query, String token, Texts texts) throws Exception {
    return HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .header("Authorization", "Bearer " + token)
        .buildAsync(URI.create("ws://127.0.0.1:" + server.port() + "/api/v1/events" + query), texts)
        .get();
  }

  /** The texts that came. */
  private static final class Texts implements WebSocket.Listener {
    private final BlockingQueue<String> texts = new LinkedBlockingQueue<>();
    private final StringBuilder part = new StringBuilder();

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
      part.append(data);
      if (last) {
        texts.add(part.toString());
        part.setLength(0);
      }
      socket.request(1);
      return null;
    }

    String next() throws InterruptedException {
      return String.valueOf(texts.poll(60, TimeUnit.SECONDS));
    }
  }
}
