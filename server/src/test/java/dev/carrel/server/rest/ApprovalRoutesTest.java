package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest.BodyPublishers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class ApprovalRoutesTest {
  private static final String ALL = "/api/v1/approvals";

  private final LiveServer server;

  ApprovalRoutesTest(LiveServer server) {
    this.server = server;
  }

  private Answer as(String token, String method, String path, String json) {
    return server.send(
        server
            .request(method, path, BodyPublishers.ofString(json))
            .setHeader("Authorization", "Bearer " + token)
            .build());
  }

  @Test
  void whatIsRefusedWasNotAsked() {
    String sandbox = server.sandboxId();
    Answer refused =
        server.post(
            ALL,
            "{\"sandbox_id\":\"%s\",\"subject\":\"refused.example.com\",\"wait_seconds\":301}"
                .formatted(sandbox));
    assertThat(refused.field()).isEqualTo("wait_seconds");
    assertThat(server.get(ALL).json().findValuesAsText("subject"))
        .doesNotContain("refused.example.com");
  }

  @Test
  void isAskedForDecidedAndTakenBack() {
    String sandbox = server.sandboxId();
    JsonNode asked =
        server
            .post(
                ALL,
                "{\"sandbox_id\":\"%s\",\"subject\":\"api.example.com\",\"reason\":\"weather\"}"
                    .formatted(sandbox))
            .json();
    String one = ALL + "/" + asked.get("id").asText();
    assertThat(asked.get("status").asText()).isEqualTo("pending");
    assertThat(asked.get("scope").asText()).isEqualTo("sandbox");
    assertThat(server.post(one + "/decision", "{\"approve\":true}").code()).isEqualTo("forbidden");
    assertThat(as(LiveServer.BOB, "GET", one, "").status()).isEqualTo(404);
    assertThat(as(LiveServer.ADMIN, "POST", one + "/decision", "{}").field()).isEqualTo("approve");

    JsonNode decided =
        as(
                LiveServer.ADMIN,
                "POST",
                one + "/decision",
                "{\"approve\":true,\"valid_seconds\":600,\"note\":\"ok\"}")
            .json();
    assertThat(decided.get("status").asText()).isEqualTo("approved");
    assertThat(decided.get("ends_at").isNull()).isFalse();
    assertThat(server.get(one + "?wait_seconds=60").json()).isEqualTo(decided);
    assertThat(server.get(ALL + "?status=approved").json().get("approvals")).contains(decided);
    assertThat(as(LiveServer.ADMIN, "POST", one + "/decision", "{\"approve\":false}").status())
        .isEqualTo(409);
    assertThat(
            server
                .send(server.request("DELETE", one, BodyPublishers.noBody()).build())
                .json()
                .get("status")
                .asText())
        .isEqualTo("withdrawn");
  }

  @Test
  void aQuestionThatIsRefusedIsNotAsked() {
    String question =
        "{\"sandbox_id\":\"%s\",\"subject\":\"never.example.com\",\"wait_seconds\":301}"
            .formatted(server.sandboxId());
    assertThat(server.post(ALL, question).field()).isEqualTo("wait_seconds");
    assertThat(server.get(ALL + "?limit=1000").text()).doesNotContain("never.example.com");
  }

  @Test
  void badQuestionsNameTheirField() {
    assertThat(server.post(ALL, "{}").field()).isEqualTo("subject");
    assertThat(server.post(ALL, "{\"subject\":\"a.net\"}").field()).isEqualTo("sandbox_id");
    assertThat(server.post(ALL, "{\"subject\":\"a.net\",\"kind\":\"all\"}").field())
        .isEqualTo("kind");
    assertThat(server.post(ALL, "{\"subject\":\"*\",\"scope\":\"namespace\"}").field())
        .isEqualTo("subject");
    assertThat(server.get(ALL + "/apaaaaaaaaaaaaaa").code()).isEqualTo("approval_not_found");
    assertThat(server.get(ALL + "?status=odd").field()).isEqualTo("status");
  }
}
