package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class SecurityToolsTest {
  private static final String PATH = "/mcp?tools=security";

  private final LiveServer server;
  private final McpClient ada;
  private final McpClient admin;

  SecurityToolsTest(LiveServer server) {
    this.server = server;
    this.ada = new McpClient(server, PATH);
    this.admin = new McpClient(server, PATH, LiveServer.ADMIN);
  }

  @Test
  void aUsersRequestWaitsForAPerson() {
    JsonNode asked = structured(ada, "request_egress", "{\"domain\":\"one.example.com\"}");
    assertThat(asked.get("status").asText()).isEqualTo("pending");
    assertThat(asked.get("approved").asBoolean()).isFalse();
    assertThat(asked.get("hint").asText()).contains("carrel approvals approve ap");
    assertThat(structured(ada, "list_approvals", "{}").findValuesAsText("subject"))
        .contains("one.example.com");
  }

  @Test
  void anAdministratorIsAskedAtTheClientWithoutASession() {
    String arguments = "{\"domain\":\"two.example.com\",\"reason\":\"to test\"}";
    JsonNode first = admin.call("request_egress", arguments);
    assertThat(first.get("resultType").asText()).as(first.toString()).isEqualTo("input_required");
    assertThat(first.at("/inputRequests/decision/params/message").asText())
        .contains("two.example.com", "to test");
    JsonNode second = answered(arguments, "{\"action\":\"accept\",\"content\":{\"allow\":true}}");
    assertThat(second.at("/structuredContent/status").asText()).isEqualTo("approved");
  }

  @Test
  void whoDeclinesDeniesAndWhoCancelsDecidesNothing() {
    assertThat(
            answered("{\"domain\":\"three.example.com\"}", "{\"action\":\"cancel\"}")
                .at("/structuredContent/status")
                .asText())
        .isEqualTo("pending");
    assertThat(
            answered("{\"domain\":\"three.example.com\"}", "{\"action\":\"decline\"}")
                .at("/structuredContent/status")
                .asText())
        .isEqualTo("denied");
    assertThat(
            answered(
                    "{\"domain\":\"four.example.com\"}",
                    "{\"action\":\"accept\",\"content\":{\"allow\":false}}")
                .at("/structuredContent/status")
                .asText())
        .isEqualTo("denied");
  }

  @Test
  void anAdministratorIsAskedAtTheClientInASession() throws IOException {
    admin.initialize("{\"elicitation\":{}}");
    try (var events =
        new EventReader(
            server.stream(
                    admin.legacyRequest(
                        McpClient.message(
                            41,
                            "tools/call",
                            "{\"name\":\"request_egress\",\"arguments\":{\"domain\":\"five.example.com\"}}")))
                .body())) {
      JsonNode question = events.next("message").data();
      assertThat(question.get("method").asText()).isEqualTo("elicitation/create");
      assertThat(question.at("/params/message").asText())
          .startsWith("May every sandbox of namespace default reach five.example.com?");
      admin.send(
          admin.legacyRequest(
              "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{\"allow\":true}}}"
                  .formatted(question.get("id"))));
      JsonNode answer = events.next("message").data();
      assertThat(answer.at("/result/structuredContent/approved").asBoolean())
          .as(answer.toString())
          .isTrue();
    }
  }

  @Test
  void whatWasDoneIsOnRecord() {
    String sandbox = server.sandboxId();
    new McpClient(server)
        .text("Bash", "{\"session_id\":\"%s\",\"command\":\"true\"}".formatted(sandbox));
    JsonNode records =
        structured(ada, "audit_execution", "{\"session_id\":\"%s\"}".formatted(sandbox));
    assertThat(records.findValuesAsText("action")).anyMatch(action -> action.startsWith("exec"));
    assertThat(
            structured(ada, "sandbox_stats", "{\"session_id\":\"%s\"}".formatted(sandbox))
                .findValuesAsText("session_id"))
        .containsExactly(sandbox);
    assertThat(structured(ada, "sandbox_stats", "{}").get("sandboxes")).isNotEmpty();
    assertThat(
            structured(ada, "egress_decisions", "{\"session_id\":\"%s\"}".formatted(sandbox))
                .get("decisions")
                .isEmpty())
        .isTrue();
    JsonNode artifacts =
        structured(ada, "get_artifacts", "{\"session_id\":\"%s\"}".formatted(sandbox));
    assertThat(artifacts.get("artifacts").isEmpty()).isTrue();
    assertThat(artifacts.get("truncated").asBoolean(true)).isFalse();
    assertThat(structured(ada, "list_approvals", "{}").get("truncated").asBoolean(true)).isFalse();
  }

  @Test
  void secretsAreNamedAndNeverShown() {
    server.post(
        "/api/v1/vault/secrets", "{\"name\":\"MCP_TEST_KEY\",\"value\":\"very-secret-value\"}");
    JsonNode secrets = structured(ada, "list_secrets", "{}");
    assertThat(secrets.findValuesAsText("name")).contains("MCP_TEST_KEY");
    assertThat(secrets.toString()).doesNotContain("very-secret-value");
  }

  private JsonNode answered(String arguments, String answer) {
    return admin
        .modern(
            "tools/call",
            "{\"name\":\"request_egress\",\"arguments\":%s,\"inputResponses\":{\"decision\":%s}}"
                .formatted(arguments, answer))
        .result();
  }

  private static JsonNode structured(McpClient client, String tool, String arguments) {
    JsonNode result = client.call(tool, arguments);
    assertThat(result.has("structuredContent")).as(result.toString()).isTrue();
    return result.get("structuredContent");
  }
}
