package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
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
  void aSandboxBeginsWithItsBudget() {
    Answer made =
        server.post(
            "/api/v1/sandboxes",
            "{\"session_key\":\"frugal\",\"budget\":{\"executions\":1,\"egress_bytes\":1000}}");
    assertThat(made.status()).as(made.text()).isEqualTo(201);
    assertThat(made.json().at("/budget/executions").asInt()).isEqualTo(1);
    assertThat(made.json().at("/budget/egress_bytes").asInt()).isEqualTo(1000);
    assertThat(made.json().at("/budget/cpu_seconds").isNull()).isTrue();
    assertThat(made.json().get("packages").isNull()).isTrue();
    String path = "/api/v1/sandboxes/" + made.json().get("id").asText();
    assertThat(server.post(path + "/exec", "{\"command\":\"true\"}").status()).isEqualTo(200);
    assertThat(server.post(path + "/exec", "{\"command\":\"true\"}").code())
        .isEqualTo("budget_exhausted");
    assertThat(server.get(path).json().at("/budget/executions_used").asInt()).isEqualTo(1);

    Answer again =
        server.post(
            "/api/v1/sandboxes", "{\"session_key\":\"frugal\",\"budget\":{\"executions\":9}}");
    assertThat(again.status()).isEqualTo(200);
    assertThat(again.json().at("/budget/executions").asInt()).isEqualTo(1);
    HttpRequest raise =
        server
            .request("PUT", path + "/budget", BodyPublishers.ofString("{\"executions\":5}"))
            .setHeader("Authorization", "Bearer " + LiveServer.BOB)
            .build();
    assertThat(server.send(raise).status()).isEqualTo(404);
    assertThat(server.delete(path).status()).isEqualTo(204);
  }

  @Test
  void nothingIsLeftOfABudgetOfASandboxThatCannotBe() {
    String body =
        "{\"image\":\"no-such-image\",\"budget\":{\"executions\":1},\"session_key\":\"none\"}";
    assertThat(server.post("/api/v1/sandboxes", body).status()).isGreaterThanOrEqualTo(400);
    assertThat(server.post("/api/v1/sandboxes", "{\"budget\":{\"executions\":-1}}").status())
        .isEqualTo(422);
    assertThat(server.post("/api/v1/sandboxes", "{\"budget\":[]}").status()).isEqualTo(422);
    assertThat(
            server
                .post(
                    "/api/v1/sandboxes",
                    "{\"packages\":[{\"manager\":\"pip\",\"packages\":[\"--pre\"]}]}")
                .text())
        .contains("is no package of pip");
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
