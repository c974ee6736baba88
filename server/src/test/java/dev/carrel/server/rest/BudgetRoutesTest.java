package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class BudgetRoutesTest {
  private final LiveServer server;

  BudgetRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void aBudgetIsSetUsedUpAndSaysSo() {
    String path =
        "/api/v1/sandboxes/" + server.post("/api/v1/sandboxes", "{}").json().get("id").asText();
    assertThat(server.get(path + "/budget").json().get("executions").isNull()).isTrue();
    assertThat(put(path + "/budget", "{\"executions\":1}").status()).isEqualTo(200);

    assertThat(server.post(path + "/exec", "{\"command\":\"true\"}").status()).isEqualTo(200);
    Answer refused = server.post(path + "/exec", "{\"command\":\"true\"}");
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.code()).isEqualTo("budget_exhausted");
    assertThat(refused.text()).contains("executions 1 of 1", "carrel limits budget");
    assertThat(server.get(path + "/budget").json().get("executions_used").asInt()).isEqualTo(1);
  }

  @Test
  void nonsenseIsRefused() {
    assertThat(put("/api/v1/namespaces/x/budget", "{\"executions\":-1}").status()).isEqualTo(422);
    assertThat(put("/api/v1/namespaces/x/budget", "{\"cpu_seconds\":\"1\"}").status())
        .isEqualTo(422);
    assertThat(put("/api/v1/namespaces/%20/budget", "{}").status()).isEqualTo(422);
    assertThat(put("/api/v1/sandboxes/sbaaaaaaaaaaaaaa/budget", "{}").status()).isEqualTo(404);
  }

  private Answer put(String path, String body) {
    return server.put(path, body.getBytes(StandardCharsets.UTF_8));
  }
}
