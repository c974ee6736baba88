package dev.carrel.server.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A line of shell is the same by every way in: bash's, or that of sh where there is no bash. */
@ExtendWith(SharedServer.class)
@Timeout(120)
class ShellLinesTest {
  private static final String KEY = "without-bash";

  private final LiveServer server;
  private final McpClient mcp;
  private String poor = "";

  ShellLinesTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  /** In it no bash is found, as in many a small image. */
  @BeforeEach
  void make(@TempDir Path programs) throws IOException {
    Files.createSymbolicLink(programs.resolve("mkdir"), Path.of("/bin/mkdir"));
    Answer made =
        server.post(
            "/api/v1/sandboxes",
            "{\"session_key\":\"%s\",\"env_vars\":{\"PATH\":\"%s\"}}".formatted(KEY, programs));
    assertThat(made.status()).as(made.text()).isEqualTo(201);
    poor = made.json().get("id").asText();
  }

  @AfterEach
  void remove() {
    server.delete("/api/v1/sandboxes/" + poor);
  }

  @Test
  void restHasSh() {
    Answer answer = server.post("/api/v1/sandboxes/" + poor + "/exec", "{\"command\":\"echo x\"}");
    assertThat(answer.json().get("stdout").asText()).as(answer.text()).isEqualTo("x\n");
  }

  @Test
  void mcpHasSh() {
    assertThat(mcp.text("Bash", arguments("echo x"))).isEqualTo("x\n");
    assertThat(mcp.text("execute_terminal", arguments("echo x"))).contains("\"stdout\":\"x\\n\"");
  }

  @Test
  void theFlatApiHasSh() {
    Answer answer = flat("{\"command\":\"echo x\"}");
    assertThat(answer.json().at("/data/output").asText()).as(answer.text()).isEqualTo("x\n");
  }

  @Test
  void whatRunsInTheBackgroundHasSh() {
    Answer begun = flat("{\"command\":\"echo x\",\"run_in_background\":true}");
    String file = begun.json().at("/data/output_file").asText();
    assertThat(file).as(begun.text()).startsWith("/workspace/");
    String log = file.substring("/workspace/".length());
    Eventually.until(
        "the output is in the file",
        () -> server.get("/api/v1/sandboxes/" + poor + "/files/" + log).text().equals("x\n"));
  }

  @Test
  void grpcHasShOrBash() {
    try (GrpcClient client = GrpcClient.to(server, LiveServer.ADA)) {
      var sessions = new SessionClient(client);
      assertThat(sessions.exec(poor, "echo x").getStdout()).isEqualTo("x\n");
      String rich = sessions.create();
      assertThat(sessions.exec(rich, "[[ a == a ]] && echo {1..3}").getStdout())
          .isEqualTo("1 2 3\n");
      sessions.destroy(rich);
    }
  }

  private String arguments(String line) {
    return "{\"session_id\":\"%s\",\"command\":\"%s\"}".formatted(poor, line);
  }

  private Answer flat(String body) {
    return server.send(
        server
            .request("POST", "/v1/bash/exec", BodyPublishers.ofString(body))
            .header("X-Session-ID", KEY)
            .build());
  }
}
