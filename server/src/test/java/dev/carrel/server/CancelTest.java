package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer.Event;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Clients that leave, and a server that stops. */
@Timeout(90)
@ExtendWith(SharedServer.class)
class CancelTest {
  private static final String ENDLESS =
      "{\"command\":\"echo go; sleep 1000 | cat\",\"timeout_seconds\":1000}";

  private final LiveServer server;

  CancelTest(LiveServer server) {
    this.server = server;
  }

  private JsonNode onlyExec(String sandbox) {
    return server.get(sandbox + "/execs").json().get("execs").path(0);
  }

  private static String request(String path, String accept, String body) {
    return BoundsTest.head(
            "POST", path, "Accept: " + accept + "\r\nContent-Length: " + body.length())
        + body;
  }

  @Test
  void leavingAStreamEndsTheCommand() throws IOException {
    String sandbox = server.sandbox();
    try (var client = new RawClient(server.port())) {
      client.send(request(sandbox + "/exec", "text/event-stream", ENDLESS));
      assertThat(client.readHead()).startsWith("HTTP/1.1 200");
    }
    Eventually.until(
        "the command has ended", () -> onlyExec(sandbox).path("status").asText().equals("exited"));
    assertThat(onlyExec(sandbox).get("cause").asText()).isEqualTo("killed");
  }

  @Test
  void leavingBeforeTheAnswerEndsTheCommand() throws IOException {
    String sandbox = server.sandbox();
    try (var client = new RawClient(server.port())) {
      client.send(request(sandbox + "/exec", "application/json", ENDLESS));
      Eventually.until(
          "the command runs", () -> onlyExec(sandbox).path("status").asText().equals("running"));
    }
    Eventually.until(
        "the command has ended", () -> onlyExec(sandbox).path("status").asText().equals("exited"));
  }

  @Test
  void leavingCodeInterruptsItAndKeepsTheState() throws IOException {
    String sandbox = server.sandbox();
    server.post(sandbox + "/code", "{\"code\":\"kept = 7\"}");
    String endless = "{\"code\":\"import time\\nprint('go')\\nwhile True: time.sleep(0.01)\"}";
    try (var client = new RawClient(server.port())) {
      client.send(request(sandbox + "/code", "text/event-stream", endless));
      assertThat(client.readHead()).startsWith("HTTP/1.1 200");
      client.readUntil("go");
    }
    Eventually.until(
        "the context is idle again",
        () ->
            server
                .get(sandbox + "/contexts")
                .json()
                .get("contexts")
                .get(0)
                .get("status")
                .asText()
                .equals("idle"));
    assertThat(
            server
                .post(sandbox + "/code", "{\"code\":\"kept\"}")
                .json()
                .get("result")
                .get("text/plain")
                .asText())
        .isEqualTo("7");
  }

  @Test
  void aBackgroundCommandOutlivesItsStream() throws IOException {
    String sandbox = server.sandbox();
    String body =
        "{\"command\":\"echo go; read line; echo got $line\",\"background\":true,\"stdin_open\":true}";
    try (var client = new RawClient(server.port())) {
      client.send(request(sandbox + "/exec", "text/event-stream", body));
      assertThat(client.readHead()).startsWith("HTTP/1.1 200");
    }
    String exec = sandbox + "/execs/" + onlyExec(sandbox).get("id").asText();
    assertThat(server.post(exec + "/stdin", "{\"data\":\"you\\n\"}").status()).isEqualTo(204);
    Eventually.until(
        "the command has ended", () -> onlyExec(sandbox).path("status").asText().equals("exited"));
    assertThat(server.get(exec + "/output").text()).isEqualTo("go\ngot you\n");
  }

  @Test
  void aServerThatStopsTellsItsStreamsAndEnds() throws IOException {
    try (LiveServer mortal = LiveServer.start()) {
      String sandbox = mortal.sandbox();
      var reader = new EventReader(mortal.stream(mortal.live(sandbox + "/exec", ENDLESS)).body());
      reader.next("stdout");
      var waiting =
          CompletableFuture.supplyAsync(() -> mortal.post(sandbox + "/exec", ENDLESS).status());
      Eventually.until(
          "both run", () -> mortal.get(sandbox + "/execs").json().get("execs").size() == 2);
      long start = System.nanoTime();
      mortal.server().stop();
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
      List<Event> rest = reader.rest();
      assertThat(rest.getLast().name()).isEqualTo("failure");
      assertThat(rest.getLast().data().get("code").asText()).isEqualTo("shutting_down");
      assertThat(waiting.join()).isEqualTo(503);
    }
  }
}
