package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.LiveServer.Event;
import dev.carrel.server.SharedServer;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class IdempotencyTest {
  private final LiveServer server;
  private String sandbox = "";

  IdempotencyTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    sandbox = server.sandbox();
  }

  private HttpRequest.Builder request(String path, String key, String json) {
    return server
        .request("POST", sandbox + path, BodyPublishers.ofString(json))
        .header("Idempotency-Key", key);
  }

  private Answer post(String path, String key, String json) {
    return server.send(request(path, key, json).build());
  }

  private HttpRequest live(String path, String key, String json, String lastEvent) {
    return request(path, key, json)
        .header("Accept", "text/event-stream")
        .header("Last-Event-ID", lastEvent)
        .build();
  }

  @Test
  void theSameRequestTwiceIsOneCommandWithOneResult() {
    Answer first = post("/exec", "k", "{\"command\":\"echo $$ >> ran; cat ran\", \"stdin\":\"\"}");
    Answer again = post("/exec", "k", "{\"stdin\":\"\",\"command\":\"echo $$ >> ran; cat ran\"}");
    assertThat(first.header("Idempotency-Replayed")).isEmpty();
    assertThat(again.header("Idempotency-Replayed")).isEqualTo("true");
    assertThat(again.json()).isEqualTo(first.json());
  }

  @Test
  void anotherBodyWithTheSameKeyIsRefusedByName() {
    post("/exec", "k", "{\"command\":\"true\"}");
    Answer other = post("/exec", "k", "{\"command\":\"false\"}");
    assertThat(other.status()).isEqualTo(422);
    assertThat(other.code()).isEqualTo("key_reused");
    assertThat(other.json().get("detail").asText()).contains("Idempotency-Key", "'k'");
  }

  @Test
  void aKeyIsVisibleAsciiOfBoundedLength() {
    for (String key : List.of("two words", "x".repeat(256))) {
      Answer answer = post("/exec", key, "{\"command\":\"true\"}");
      assertThat(answer.status()).isEqualTo(422);
      assertThat(answer.field()).isEqualTo("Idempotency-Key");
    }
  }

  @Test
  void aDroppedStreamGoesOnWhereItWas() throws IOException {
    String body = "{\"command\":\"echo one; until test -e go; do sleep 0.02; done; echo two\"}";
    String id;
    try (var reader = new EventReader(server.stream(live("/exec", "k", body, "0")).body())) {
      Event one = reader.next("stdout");
      assertThat(one.data().get("text").asText()).isEqualTo("one\n");
      id = one.id();
    }
    Eventually.until("the server has seen it leave", () -> running().size() == 1);
    server.post(sandbox + "/exec", "{\"command\":\"touch go\"}");
    List<Event> rest = server.events(live("/exec", "k", body, id));
    assertThat(rest.stream().map(Event::name)).containsExactly("started", "stdout", "exited");
    assertThat(rest.get(1).data().get("text").asText()).isEqualTo("two\n");
    assertThat(rest.get(2).data().get("exit_code").asInt()).isZero();
  }

  private List<JsonNode> running() {
    return server
        .get(sandbox + "/execs")
        .json()
        .get("execs")
        .valueStream()
        .filter(exec -> exec.get("status").asText().equals("running"))
        .toList();
  }

  @Test
  void aBackgroundCommandIsStartedOnce() {
    String body = "{\"command\":\"sleep 1000\",\"background\":true}";
    Answer first = post("/exec", "k", body);
    Answer again = post("/exec", "k", body);
    assertThat(first.status()).isEqualTo(202);
    assertThat(again.status()).isEqualTo(202);
    assertThat(again.json().get("id")).isEqualTo(first.json().get("id"));
    assertThat(running()).hasSize(1);
  }

  @Test
  void whoSawTheLastTextOfCodeIsToldOfItsEnd() {
    String body =
        "{\"code\":\"import sys\\nsys.stdout.buffer.write(b'\\\\xe2')\\nsys.stdout.flush()\"}";
    List<Event> all = server.events(live("/code", "k", body, "0"));
    assertThat(all.getLast().name()).isEqualTo("done");
    Event last = all.get(all.size() - 2);
    assertThat(last.data().path("text").asText()).isEqualTo("\ufffd");
    assertThat(last.id()).isNotEqualTo(all.getLast().id());
    String seen = "0";
    for (Event event : all.subList(0, all.size() - 1)) {
      seen = event.id().isEmpty() ? seen : event.id();
    }
    assertThat(server.events(live("/code", "k", body, seen)).getLast().name()).isEqualTo("done");
  }

  @Test
  void codeRunsOnceAndItsEventsGoOnAfterTheLastOne() {
    String body = "{\"code\":\"print('é')\\nn = globals().get('n', 0) + 1\\nn\"}";
    List<Event> all = server.events(live("/code", "k", body, "0"));
    assertThat(all.stream().map(Event::name))
        .containsExactly("started", "stdout", "result", "done");
    assertThat(all.stream().map(Event::id)).containsExactly("1", "2", "3", "4");
    List<Event> rest = server.events(live("/code", "k", body, "2"));
    assertThat(rest).isEqualTo(all.subList(2, 4));

    Answer folded = post("/code", "k", body);
    assertThat(folded.header("Idempotency-Replayed")).isEqualTo("true");
    assertThat(folded.json().get("result").get("text/plain").asText()).isEqualTo("1");
    assertThat(post("/code", "k", "{\"code\":\"n\"}").code()).isEqualTo("key_reused");
  }
}
