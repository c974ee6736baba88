package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.cli.ServedServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class McpIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String META =
      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
          + "\"io.modelcontextprotocol/clientCapabilities\":{}}";
  private static final String INITIALIZE =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
          + "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";

  @Test
  void aSessionOnStandardInputNeedsNoServer(@TempDir Path folder) throws IOException {
    var desk = new Desk(folder);
    Desk.Outcome outcome =
        desk.carrelWith(
            lines(
                INITIALIZE,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
                "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":"
                    + "\"Bash\",\"arguments\":{\"command\":\"echo $((6*7))\"}}}"),
            "mcp");
    assertThat(desk.carrel("sandbox", "delete", "--all").code()).isZero();
    assertThat(outcome.code()).as(outcome.err()).isZero();
    List<JsonNode> answers = answers(outcome);
    assertThat(answers.getFirst().at("/result/serverInfo/name").asText()).isEqualTo("carrel");
    assertThat(answers.getLast().get("id").asText()).isEqualTo("a");
    assertThat(answers.getLast().at("/result/content/0/text").asText()).isEqualTo("42\n");
  }

  @Test
  void requestsWithoutASessionShareTheServerThatRuns(@TempDir Path folder) throws IOException {
    var desk = new Desk(folder);
    try (ServedServer _ = desk.serve()) {
      Desk.Outcome outcome =
          desk.carrelWith(
              lines(
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"create_session\","
                      + "\"arguments\":{\"language\":\"bash\"},"
                      + META
                      + "}}"),
              "mcp",
              "--tools",
              "code");
      String session =
          answers(outcome).getFirst().at("/result/structuredContent/session_id").asText();
      assertThat(desk.carrel("sandbox", "list").out()).contains(session);
      assertThat(desk.carrel("sandbox", "delete", "--all").code()).isZero();
    }
  }

  @Test
  void whatIsNotJsonIsAnErrorAndNotTheEnd(@TempDir Path folder) throws IOException {
    Desk.Outcome outcome =
        new Desk(folder)
            .carrelWith(
                lines(
                    "{nonsense",
                    "",
                    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"server/discover\",\"params\":{"
                        + META
                        + "}}"),
                "mcp");
    List<JsonNode> answers = answers(outcome);
    assertThat(answers.getFirst().at("/error/code").asInt()).isEqualTo(-32700);
    assertThat(answers.getLast().at("/result/supportedVersions/0").asText())
        .isEqualTo("2026-07-28");
  }

  @Test
  void clientsAreToldHowToStartIt(@TempDir Path folder) throws IOException {
    var desk = new Desk(folder);
    Path settings = folder.resolve(".claude.json");
    Files.writeString(settings, "{\"theme\":\"dark\",\"mcpServers\":{\"other\":{}}}");
    assertThat(desk.carrel("mcp", "install", "claude").out()).contains(settings.toString());
    JsonNode claude = JSON.readTree(Files.readString(settings));
    assertThat(claude.get("theme").asText()).isEqualTo("dark");
    assertThat(claude.at("/mcpServers/other").isObject()).isTrue();
    assertThat(claude.at("/mcpServers/carrel/command").asText()).endsWith("/bin/carrel");
    assertThat(claude.at("/mcpServers/carrel/args/0").asText()).isEqualTo("mcp");
    Path own = folder.resolve("code.json");
    desk.carrel("mcp", "install", "vscode", "--file", own.toString(), "--tools", "files");
    assertThat(JSON.readTree(Files.readString(own)).at("/servers/carrel/args/2").asText())
        .isEqualTo("files");
  }

  @Test
  void settingsThatCannotBeReadAreLeftAlone(@TempDir Path folder) throws IOException {
    Path settings = folder.resolve("mcp.json");
    Files.writeString(settings, "// mine\n{}");
    Desk.Outcome outcome =
        new Desk(folder).carrel("mcp", "install", "cursor", "--file", settings.toString());
    assertThat(outcome.code()).isEqualTo(125);
    assertThat(outcome.err()).contains("is not plain JSON");
    assertThat(Files.readString(settings)).isEqualTo("// mine\n{}");
  }

  private static String lines(String... messages) {
    return String.join("\n", messages) + "\n";
  }

  private static List<JsonNode> answers(Desk.Outcome outcome) throws IOException {
    var answers = new ArrayList<JsonNode>();
    for (String line : outcome.out().lines().toList()) {
      answers.add(JSON.readTree(line));
    }
    assertThat(answers).as(outcome.err()).isNotEmpty();
    return answers;
  }
}
