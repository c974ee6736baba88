package dev.carrel.server.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.exec.ExecSettings;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.mcp.McpClient;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who names no time is served by every way in, however little the operator allows. */
@Timeout(120)
class UsualTimesTest {
  private static LiveServer server;

  @BeforeAll
  static void start() {
    ExecSettings usual = ExecSettings.defaults();
    var hasty =
        new ExecSettings(
            usual.defaultTimeout(),
            Duration.ofSeconds(20),
            Duration.ofMinutes(5),
            usual.maxConcurrent(),
            usual.maxRetained(),
            usual.stdoutChars(),
            usual.stderrChars(),
            usual.spill(),
            usual.spillPerSandbox(),
            usual.maxStdin());
    server = LiveServer.start(LiveServer.settings(), defaults -> defaults.withExecs(hasty));
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void overMcp() {
    var mcp = new McpClient(server);
    assertThat(mcp.text("Bash", "{\"command\":\"echo here\"}")).isEqualTo("here\n");
    assertThat(mcp.text("Bash", "{\"command\":\"echo here\",\"run_in_background\":true}"))
        .contains("started in background");
    JsonNode bash = offered(mcp, "Bash");
    assertThat(bash.get("description").asText()).contains("at most 20 seconds");
    assertThat(bash.at("/inputSchema/properties/timeout_ms/maximum").asInt()).isEqualTo(20_000);
    assertThat(bash.at("/inputSchema/properties/timeout_ms/default").asInt()).isEqualTo(20_000);
    assertThat(
            offered(mcp, "execute_terminal").at("/inputSchema/properties/timeout/maximum").asInt())
        .isEqualTo(20);
    assertThat(offered(mcp, "execute_code").at("/inputSchema/properties/timeout/maximum").asInt())
        .isEqualTo(3600);
  }

  private static JsonNode offered(McpClient mcp, String name) {
    for (JsonNode tool : mcp.modern("tools/list", "{}").result().get("tools")) {
      if (tool.get("name").asText().equals(name)) {
        return tool;
      }
    }
    throw new AssertionError("there is no tool " + name);
  }

  @Test
  void overTheFlatApi() {
    flat("{\"command\":\"echo here\"}");
    flat("{\"command\":\"echo here\",\"run_in_background\":true}");
  }

  private static void flat(String body) {
    Answer answer = server.post("/v1/bash/exec", body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
  }

  @Test
  void overGrpc() {
    try (GrpcClient client = GrpcClient.to(server, LiveServer.ADA)) {
      var sessions = new SessionClient(client);
      String session = sessions.create();
      assertThat(sessions.exec(session, "echo here").getStdout()).isEqualTo("here\n");
      sessions.destroy(session);
    }
  }

  @Test
  void whoAsksForTooMuchIsToldWhatToDo() {
    String execs = server.sandbox() + "/exec";
    Answer command = server.post(execs, "{\"command\":\"true\",\"timeout_seconds\":600}");
    assertThat(command.status()).isEqualTo(422);
    assertThat(command.text()).contains("run it in the background, or raise exec.max-timeout");
    Answer background =
        server.post(execs, "{\"command\":\"true\",\"timeout_seconds\":600,\"background\":true}");
    assertThat(background.status()).isEqualTo(422);
    assertThat(background.text())
        .contains("exec.max-background-timeout")
        .doesNotContain("run it in the background");
  }
}
