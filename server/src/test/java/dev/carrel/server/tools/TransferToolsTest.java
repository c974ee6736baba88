package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.net.URI;
import java.net.http.HttpRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class TransferToolsTest {
  private final LiveServer server;
  private final McpClient mcp;

  TransferToolsTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  @Test
  void filesGoInAndOutAndToAnotherSession() {
    String first = server.sandboxId();
    String second = server.sandboxId();
    JsonNode brought =
        call(
            "import_files",
            first,
            "[{\"file_name\":\"a.txt\",\"file_content\":\"one\"},{\"source\":\"/etc/shadow\"}]");
    assertThat(brought.get("success").asBoolean()).isFalse();
    assertThat(brought.at("/files/0/success").asBoolean()).isTrue();
    assertThat(brought.at("/files/1/success").asBoolean()).isFalse();

    String early = "[{\"session_id\":\"" + first + "\",\"path\":\"a.txt\"}]";
    assertThat(call("import_files", second, early).at("/files/0/error").asText())
        .startsWith("File not exported from source session (use export_files first)");
    JsonNode exported = call("export_files", first, "[{\"source\":\"a.txt\"}]").at("/files/0");
    assertThat(exported.get("session_id").asText()).isEqualTo(first);
    assertThat(exported.get("path").asText()).isEqualTo("/workspace/a.txt");
    assertThat(exported.get("size").asLong()).isEqualTo(3);
    assertThat(
            server
                .send(
                    HttpRequest.newBuilder(URI.create(exported.get("download_url").asText()))
                        .build())
                .text())
        .isEqualTo("one");
    assertThat(call("import_files", second, early).get("success").asBoolean()).isTrue();
    assertThat(server.get("/api/v1/sandboxes/" + second + "/files/a.txt").text()).isEqualTo("one");
  }

  @Test
  void aValueIsGivenCarriedAndTold() {
    String session = server.sandboxId();
    JsonNode set =
        bridge("{\"session_id\":\"" + session + "\",\"key\":\"x\",\"value\":{\"a\":[1,2]}}");
    assertThat(set.get("success").asBoolean()).as(set.toString()).isTrue();
    bridge(
        "{\"session_id\":\""
            + session
            + "\",\"name\":\"x\",\"to_language\":\"bash\",\"to_name\":\"y\"}");
    JsonNode told =
        bridge("{\"session_id\":\"" + session + "\",\"name\":\"y\",\"language\":\"bash\"}");
    assertThat(told.at("/value/a/1").asInt()).as(told.toString()).isEqualTo(2);
    assertThat(
            bridge("{\"session_id\":\"" + session + "\",\"name\":\"x;y\"}")
                .get("success")
                .asBoolean())
        .isFalse();
  }

  private JsonNode bridge(String arguments) {
    return mcp.call("bridge_data", arguments).get("structuredContent");
  }

  @Test
  void whatNamesNoSourceIsAnInvalidInput() {
    JsonNode failed = call("import_files", server.sandboxId(), "[{\"destination\":\"a.txt\"}]");
    assertThat(failed.get("success").asBoolean()).isFalse();
    assertThat(failed.get("error").asText()).contains("one of source, url");
    assertThat(
            call("export_files", server.sandboxId(), "[{\"destination\":\"x\"}]")
                .get("error")
                .asText())
        .isEqualTo("INVALID_INPUT");
  }

  private JsonNode call(String tool, String session, String files) {
    return mcp.call(tool, "{\"session_id\":\"" + session + "\",\"files\":" + files + "}")
        .get("structuredContent");
  }
}
