package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.LiveServer.Event;
import dev.carrel.server.SharedServer;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class CodeRoutesTest {
  private final LiveServer server;
  private String sandbox = "";

  CodeRoutesTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    sandbox = server.sandbox();
  }

  private JsonNode code(String json) {
    Answer answer = server.post(sandbox + "/code", json);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer.json();
  }

  @Test
  void stateLivesFromCellToCell() {
    assertThat(code("{\"code\":\"x = 20\"}").get("result").isNull()).isTrue();
    JsonNode second = code("{\"language\":\"python\",\"code\":\"print('hi'); x * 2 + 2\"}");
    assertThat(second.get("success").asBoolean()).isTrue();
    assertThat(second.get("stdout").asText()).isEqualTo("hi\n");
    assertThat(second.get("result").get("text/plain").asText()).isEqualTo("42");
    assertThat(second.get("state").asText()).isEqualTo("kept");
    assertThat(second.get("execution_count").asInt()).isEqualTo(2);
  }

  @Test
  void codeThatFailsIsAResult() {
    JsonNode result = code("{\"code\":\"1/0\"}");
    assertThat(result.get("success").asBoolean()).isFalse();
    assertThat(result.get("error").get("type").asText()).isEqualTo("ZeroDivisionError");
    assertThat(result.get("error").get("traceback").asText()).contains("1/0");
  }

  @Test
  void aTimeoutInterruptsAndKeepsTheState() {
    code("{\"code\":\"kept = 5\"}");
    JsonNode result =
        code("{\"code\":\"import time\\nwhile True: time.sleep(0.01)\",\"timeout_seconds\":0.5}");
    assertThat(result.get("timed_out").asBoolean()).isTrue();
    assertThat(code("{\"code\":\"kept\"}").get("result").get("text/plain").asText()).isEqualTo("5");
  }

  @Test
  void eventsComeAsTheCodeRuns() {
    List<Event> events =
        server.events(
            server.live(
                sandbox + "/code",
                "{\"code\":\"import sys\\nprint('out')\\nprint('err', file=sys.stderr)\\n6*7\"}"));
    assertThat(events.getFirst().name()).isEqualTo("started");
    server.description().conforms("CodeStarted", events.getFirst().data());
    assertThat(events).extracting(Event::name).contains("stdout", "stderr", "result");
    Event result = events.stream().filter(e -> e.name().equals("result")).findFirst().orElseThrow();
    assertThat(result.data().get("text/plain").asText()).isEqualTo("42");
    assertThat(events.getLast().name()).isEqualTo("done");
    server.description().conforms("CodeDone", events.getLast().data());
  }

  @Test
  void anErrorIsAnEvent() {
    List<Event> events =
        server.events(server.live(sandbox + "/code", "{\"language\":\"bash\",\"code\":\"false\"}"));
    Event error = events.stream().filter(e -> e.name().equals("error")).findFirst().orElseThrow();
    server.description().conforms("CodeError", error.data());
    assertThat(events.getLast().data().get("success").asBoolean()).isFalse();
  }

  @Test
  void contextsAreApartFromEachOther() {
    String one = context("python");
    String two = context("python");
    code("{\"context_id\":\"" + one + "\",\"code\":\"v = 1\"}");
    JsonNode other = code("{\"context_id\":\"" + two + "\",\"code\":\"v\"}");
    assertThat(other.get("error").get("type").asText()).isEqualTo("NameError");
    assertThat(server.get(sandbox + "/contexts").json().get("contexts")).hasSize(2);
    Answer restarted = server.post(sandbox + "/contexts/" + one + "/restart");
    assertThat(restarted.json().get("id").asText()).isEqualTo(one);
    JsonNode afterwards = code("{\"context_id\":\"" + one + "\",\"code\":\"v\"}");
    assertThat(afterwards.get("error").get("type").asText()).isEqualTo("NameError");
    assertThat(server.delete(sandbox + "/contexts/" + two).status()).isEqualTo(204);
    assertThat(server.get(sandbox + "/contexts/" + two).status()).isEqualTo(404);
  }

  @Test
  void anInterruptStopsTheCellAndKeepsTheState() throws IOException {
    String context = context("python");
    code("{\"context_id\":\"" + context + "\",\"code\":\"v = 1\"}");
    var request =
        server.live(
            sandbox + "/code",
            "{\"context_id\":\""
                + context
                + "\",\"code\":\"print('go')\\nimport time\\nwhile True: time.sleep(0.01)\"}");
    try (var events = new EventReader(server.stream(request).body())) {
      events.next("stdout");
      assertThat(server.get(sandbox + "/contexts/" + context).json().get("status").asText())
          .isEqualTo("busy");
      assertThat(server.post(sandbox + "/contexts/" + context + "/interrupt").status())
          .isEqualTo(204);
      Event done = events.next("done");
      assertThat(done.data().get("interrupted").asBoolean()).isTrue();
      assertThat(done.data().get("state").asText()).isEqualTo("kept");
    }
    assertThat(
            code("{\"context_id\":\"" + context + "\",\"code\":\"v\"}")
                .get("result")
                .get("text/plain")
                .asText())
        .isEqualTo("1");
  }

  private String context(String language) {
    Answer created = server.post(sandbox + "/contexts", "{\"language\":\"" + language + "\"}");
    assertThat(created.status()).as(created.text()).isEqualTo(201);
    String id = created.json().get("id").asText();
    assertThat(created.header("Location")).isEqualTo(sandbox + "/contexts/" + id);
    return id;
  }
}
