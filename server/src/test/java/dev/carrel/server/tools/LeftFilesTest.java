package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class LeftFilesTest {
  // Of "left" in UTF-8.
  private static final String DIGEST =
      "360f84035942243c6a36537ae2f8673485e6c04455a0a85a0db19690f2541480";

  private final LiveServer server;
  private final McpClient mcp;
  private final McpClient security;

  LeftFilesTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
    this.security = new McpClient(server, "/mcp?tools=security");
  }

  @Test
  void aRunOfItsOwnBringsWhatItLeft() {
    JsonNode result =
        mcp.call("execute_code", "{\"code\":" + McpClient.quoted(write("left")) + "}");
    JsonNode told = result.get("structuredContent");
    JsonNode left = told.at("/artifacts/0");
    assertThat(left.get("name").asText()).as(told.toString()).isEqualTo("outputs/a.txt");
    assertThat(left.get("sha256").asText()).isEqualTo(DIGEST);
    assertThat(left.get("size").asInt()).isEqualTo(4);
    assertThat(left.get("signature").asText()).isNotEmpty();
    assertThat(Base64.getDecoder().decode(left.get("content").asText()))
        .asString()
        .isEqualTo("left");
    assertThat(told.get("request_id").asText()).isNotEmpty();
    assertThat(result.at("/content/0/text").asText()).contains(DIGEST).doesNotContain("bGVmdA");
  }

  @Test
  void whatIsTooLargeForTheAnswerIsNamed() {
    JsonNode left =
        mcp.call("execute_code", "{\"code\":" + McpClient.quoted(write("x' * 5_000_000 + '")) + "}")
            .at("/structuredContent/artifacts/0");
    assertThat(left.get("size").asInt()).isEqualTo(5_000_000);
    assertThat(left.has("content")).isFalse();
    assertThat(left.get("reason").asText()).contains("too large");
  }

  @Test
  void aSessionListsWhatItsRunsLeftOnce() {
    String session = mcp.call("create_session", "{}").at("/structuredContent/session_id").asText();
    JsonNode first = execute(session, write("left"));
    assertThat(first.at("/artifacts/0/uri").asText()).startsWith("carrel://sandboxes/" + session);
    assertThat(first.at("/artifacts/0").has("content")).isFalse();
    assertThat(execute(session, "1").get("artifacts")).isEmpty();
    JsonNode second = execute(session, write("more"));
    assertThat(second.get("artifacts")).hasSize(1);
    assertThat(listed(session, "")).hasSize(2);
    JsonNode ofFirst =
        listed(session, ",\"request_id\":\"%s\"".formatted(first.get("request_id").asText()));
    assertThat(ofFirst.findValuesAsText("sha256")).containsExactly(DIGEST);
    assertThat(server.get("/api/v1/audit?action=code.run&sandbox=" + session).text())
        .contains(first.get("request_id").asText());

    execute(session, "open('other.txt', 'w').write('left')");
    JsonNode signed = listed(session, ",\"paths\":[\"other.txt\",\"absent.txt\"]");
    assertThat(signed.findValuesAsText("name")).containsExactly("other.txt", "absent.txt");
    assertThat(signed.at("/0/sha256").asText()).isEqualTo(DIGEST);
    assertThat(signed.at("/1/reason").asText()).isNotEmpty();
  }

  private static String write(String text) {
    return "import os\nos.makedirs('outputs', exist_ok=True)\n"
        + "with open('outputs/a.txt', 'w') as f: f.write('"
        + text
        + "')";
  }

  private JsonNode execute(String session, String code) {
    JsonNode done =
        mcp.call(
                "execute_code",
                "{\"session_id\":\"%s\",\"code\":%s}".formatted(session, McpClient.quoted(code)))
            .get("structuredContent");
    assertThat(done.get("success").asBoolean()).as(done.toString()).isTrue();
    return done;
  }

  private JsonNode listed(String session, String more) {
    JsonNode result =
        security.call("get_artifacts", "{\"session_id\":\"%s\"%s}".formatted(session, more));
    return result.at("/structuredContent/artifacts");
  }
}
