package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Carrel;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Packages that an agent's session begins with, and what it may reach afterwards. */
class SessionPackagesIT {
  private static final String HOST = "index.example.net";

  @Test
  void aSessionBeginsWithItsDependenciesAndIsShutAgain(@TempDir Path folder) throws Exception {
    try (PackageSite site = new PackageSite(HOST);
        ServerProcess server =
            Carrel.start(
                folder,
                Map.of(
                    "CARREL_EGRESS_HOSTS",
                    HOST + "=127.0.0.1",
                    "CARREL_EGRESS_PACKAGES",
                    HOST + ":" + site.port(),
                    "PIP_INDEX_URL",
                    site.index(),
                    "PIP_TRUSTED_HOST",
                    HOST));
        Api api = new Api(server.address(), server.token())) {
      site.offer("wanted", "who = 'the index'");
      JsonNode made = called(server, "create_session", "{\"dependencies\":{\"wanted\":\"\"}}");
      assertThat(made.path("success").asBoolean()).as(made.toString()).isTrue();
      String session = made.get("session_id").asText();
      JsonNode ran =
          called(
              server,
              "execute_code",
              "{\"session_id\":\"%s\",\"code\":\"import wanted; wanted.who\"}".formatted(session));
      assertThat(ran.at("/result/text~1plain").asText())
          .as(ran.toString())
          .isEqualTo("'the index'");
      JsonNode policy = api.get("/api/v1/sandboxes/" + session + "/egress").json().get("policy");
      assertThat(policy.get("presets").isEmpty()).as(policy.toString()).isTrue();

      JsonNode absent = called(server, "create_session", "{\"dependencies\":{\"absent\":\"\"}}");
      assertThat(absent.path("success").asBoolean(true)).as(absent.toString()).isFalse();
      assertThat(absent.get("hint").asText()).contains("no session was made");
    }
  }

  private static JsonNode called(ServerProcess server, String tool, String arguments)
      throws IOException, InterruptedException {
    String call =
        """
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s,\
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",\
        "io.modelcontextprotocol/clientCapabilities":{}}}}
        """
            .formatted(tool, arguments);
    HttpRequest request =
        HttpRequest.newBuilder(server.address().resolve("/mcp"))
            .header("Authorization", "Bearer " + server.token())
            .header("Content-Type", "application/json")
            .header("Accept", "application/json")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", tool)
            .POST(BodyPublishers.ofString(call))
            .build();
    try (HttpClient client = HttpClient.newHttpClient()) {
      JsonNode answer = Api.JSON.readTree(client.send(request, BodyHandlers.ofString()).body());
      return answer.at("/result/structuredContent");
    }
  }
}
