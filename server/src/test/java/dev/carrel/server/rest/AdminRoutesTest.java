package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class AdminRoutesTest {
  private final LiveServer server;

  AdminRoutesTest(LiveServer server) {
    this.server = server;
  }

  private Answer admin(String method, String path, String json) {
    return server.send(
        server
            .request(method, path, BodyPublishers.ofString(json))
            .setHeader("Authorization", "Bearer " + LiveServer.ADMIN)
            .build());
  }

  @Test
  void onlyAnAdministratorMay() {
    assertThat(server.get("/api/v1/admin/sandboxes").status()).isEqualTo(403);
    for (String what : List.of("stop", "delete")) {
      Answer answer = server.post("/api/v1/admin/sandboxes/bulk-" + what, "{\"sandbox_ids\":[]}");
      assertThat(answer.code()).isEqualTo("forbidden");
    }
  }

  @Test
  void manyAreStoppedAndDeletedAndFailuresNamed() {
    String one = server.sandboxId();
    String two = server.sandboxId();
    String ids = "{\"sandbox_ids\":[\"%s\",\"%s\",\"sbaaaaaaaaaaaaaa\"]}".formatted(one, two);
    JsonNode stopped = admin("POST", "/api/v1/admin/sandboxes/bulk-stop", ids).json();
    assertThat(stopped.get("stopped").asInt()).isEqualTo(2);
    assertThat(stopped.get("errors").get(0).get("code").asText()).isEqualTo("sandbox_not_found");
    JsonNode again = admin("POST", "/api/v1/admin/sandboxes/bulk-stop", ids).json();
    assertThat(again.get("skipped").asInt()).isEqualTo(2);
    JsonNode deleted = admin("POST", "/api/v1/admin/sandboxes/bulk-delete", ids).json();
    assertThat(deleted.get("destroyed").asInt()).isEqualTo(2);
    assertThat(server.get("/api/v1/sandboxes/" + one).status()).isEqualTo(404);
  }

  @Test
  void aFilterSaysWhichAndAllTenantsAreListed() {
    String mine =
        server
            .send(
                server
                    .request("POST", "/api/v1/sandboxes", BodyPublishers.ofString("{}"))
                    .setHeader("Authorization", "Bearer " + LiveServer.BOB)
                    .build())
            .json()
            .get("id")
            .asText();
    JsonNode page =
        admin("GET", "/api/v1/admin/sandboxes?user_id=bolt&exclude_status=failed&image=os", "")
            .json();
    assertThat(page.get("items").valueStream().map(item -> item.get("id").asText())).contains(mine);
    assertThat(admin("GET", "/api/v1/admin/sandboxes?image=nothing", "").json().get("total"))
        .hasToString("0");
    JsonNode gone =
        admin(
                "POST",
                "/api/v1/admin/sandboxes/bulk-delete",
                "{\"filter\":{\"user_id\":\"bolt\",\"status\":\"running\"}}")
            .json();
    assertThat(gone.get("destroyed").asInt()).isPositive();
    assertThat(gone.get("left").asInt()).isZero();
    assertThat(admin("GET", "/api/v1/sandboxes/" + mine, "").status()).isEqualTo(404);
    assertThat(admin("POST", "/api/v1/admin/sandboxes/bulk-delete", "{}").field())
        .isEqualTo("sandbox_ids");
  }

  @Test
  void usageTellsWhatRanLast() {
    String sandbox = server.sandbox();
    server.post(sandbox + "/exec", "{\"command\":\"echo  hello\",\"env\":{\"SECRET\":\"x\"}}");
    assertThat(server.get(sandbox + "/usage").json().get("last_command").asText())
        .isEqualTo("echo  hello");
    JsonNode all = server.get("/api/v1/usage").json();
    assertThat(all.get("sandboxes").valueStream().map(item -> item.get("user_id").asText()))
        .isNotEmpty()
        .containsOnly("acme");
    assertThat(server.get("/api/v1/usage?limit=1").json().get("sandboxes")).hasSize(1);
  }
}
