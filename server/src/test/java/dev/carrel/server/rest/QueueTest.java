package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.admission.QueueSettings;
import dev.carrel.server.BoundsTest;
import dev.carrel.server.EventReader;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.RawClient;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server on which one command runs at a time and one may wait. */
@Timeout(60)
class QueueTest {
  private static final String ENDLESS = "{\"command\":\"echo go; sleep 1000\"}";

  private static LiveServer server;
  private static String sandbox;

  @BeforeAll
  static void start() {
    server =
        LiveServer.start(
            LiveServer.settings(),
            defaults -> defaults.withQueue(new QueueSettings(8, 1, 1, Duration.ofSeconds(30))));
    sandbox = server.sandbox();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static JsonNode executions() {
    return server.get("/api/v1/queue").json().get("lines").get(1);
  }

  private static EventReader live(String body) {
    return new EventReader(server.stream(server.live(sandbox + "/exec", body)).body());
  }

  @Test
  void aStreamTellsItsPositionAndGoesOnWhenItsTurnComes() throws IOException {
    EventReader first = live(ENDLESS);
    first.next("stdout");
    EventReader second = live("{\"command\":\"echo in\"}");
    assertThat(second.next("queued").data().get("position").asInt()).isEqualTo(1);
    JsonNode waiting = server.get("/api/v1/queue").json().get("waiting").get(0);
    assertThat(waiting.get("kind").asText()).isEqualTo("execution");
    assertThat(sandbox).endsWith(waiting.get("sandbox_id").asText());

    Answer refused = server.post(sandbox + "/exec", "{\"command\":\"true\"}");
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.code()).isEqualTo("limit_reached");
    assertThat(refused.header("Retry-After")).isEqualTo("1");

    first.close();
    assertThat(second.next("stdout").data().get("text").asText()).isEqualTo("in\n");
    assertThat(second.next("exited").data().get("queued_ms").asDouble()).isPositive();
    String metrics = server.get("/metrics").text();
    assertThat(metrics)
        .contains("carrel_queue_limit{kind=\"execution\"} 1\n")
        .contains("carrel_events_total{event=\"queue_refused_executions\"} 1")
        .contains("carrel_duration_seconds_bucket{event=\"queue_waited_executions\",le=\"+Inf\"} ");
  }

  @Test
  void aClientThatLeavesLeavesTheLine() throws IOException {
    EventReader first = live(ENDLESS);
    first.next("stdout");
    String body = "{\"command\":\"echo never > ran\"}";
    try (var client = new RawClient(server.port())) {
      client.send(
          BoundsTest.head(
                  "POST",
                  sandbox + "/exec",
                  "Accept: application/json\r\nContent-Length: " + body.length())
              + body);
      Eventually.until("it waits", () -> executions().get("waiting").asInt() == 1);
    }
    Eventually.until("it has left", () -> executions().get("waiting").asInt() == 0);
    first.close();
    Eventually.until("the place is free", () -> executions().get("running").asInt() == 0);
    assertThat(server.get(sandbox + "/files/ran").status()).isEqualTo(404);
  }

  @Test
  void anAnswerThatIsWaitedForTellsHowLongItWaited() throws IOException {
    EventReader first = live(ENDLESS);
    first.next("stdout");
    var second =
        CompletableFuture.supplyAsync(
            () -> server.post(sandbox + "/exec", "{\"command\":\"true\"}"));
    Eventually.until("it waits", () -> executions().get("waiting").asInt() == 1);
    first.close();
    assertThat(second.join().json().get("queued_ms").asDouble()).isPositive();
  }
}
