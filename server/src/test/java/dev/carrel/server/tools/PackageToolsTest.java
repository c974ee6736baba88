package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class PackageToolsTest {
  private final LiveServer server;
  private final McpClient mcp;

  PackageToolsTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  @Test
  void onlyNamesAndVersionsAreTaken() {
    String session = server.sandboxId();
    for (String bad : new String[] {"--index-url=http://evil", "git+https://x", "../x", "a b"}) {
      JsonNode refused = install(session, "\"package\":" + McpClient.quoted(bad));
      assertThat(refused.get("success").asBoolean()).as(refused.toString()).isFalse();
      // By default what pip takes, for a session speaks Python unless it says otherwise.
      assertThat(refused.toString()).contains("six==1.17.0");
    }
    assertThat(install(session, "\"manager\":\"npm\",\"packages\":[\"--g\"]").toString())
        .contains("is-odd");
    assertThat(install(session, "\"manager\":\"pip\"").toString()).contains("1 to 100");
    assertThat(install(session, "\"manager\":\"apt\",\"package\":\"a\"").get("error").asText())
        .isEqualTo("INVALID_INPUT");
  }

  @Test
  void anotherTenantsSessionIsNotThere() {
    var bob = new McpClient(server, "/mcp", LiveServer.BOB);
    JsonNode refused =
        bob.call(
                "install_package",
                "{\"session_id\":\"" + server.sandboxId() + "\",\"package\":\"six\"}")
            .get("structuredContent");
    assertThat(refused.get("success").asBoolean()).isFalse();
  }

  private JsonNode install(String session, String rest) {
    return mcp.call("install_package", "{\"session_id\":\"" + session + "\"," + rest + "}")
        .get("structuredContent");
  }
}
