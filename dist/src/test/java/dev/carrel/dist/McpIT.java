package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.cli.ServedServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
  void setsOfToolsThatAreNotThereAreRefusedAtTheStart(@TempDir Path folder) throws IOException {
    Desk.Outcome outcome = new Desk(folder).carrel("mcp", "--tools", "files, nope");
    assertThat(outcome.code()).isEqualTo(2);
    assertThat(outcome.out()).isEmpty();
    assertThat(outcome.err()).contains("--tools files, nope", "some of code, files");
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
  void nothingThatComesOnALineIsTheEnd(@TempDir Path folder) throws IOException {
    var desk = new Desk(folder);
    var input = new ByteArrayOutputStream();
    line(input, INITIALIZE);
    line(input, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    var asked = new ArrayList<String>();
    for (int i = 0; i < 300; i++) {
      String id = "r" + i;
      if (strange(input, i, id)) {
        asked.add(id);
      }
    }
    line(input, "{\"a\":\"" + "x".repeat(33 << 20) + "\"}");
    line(input, request("last", "\"ping\""));
    asked.add("last");

    Desk.Outcome outcome = desk.carrelWith(input.toByteArray(), "mcp");

    assertThat(desk.carrel("sandbox", "delete", "--all").code()).isZero();
    assertThat(outcome.code()).as(outcome.err()).isZero();
    List<JsonNode> answers = answers(outcome);
    assertThat(answers).allMatch(answer -> answer.path("jsonrpc").asText().equals("2.0"));
    assertThat(answers.stream().map(answer -> answer.path("id").asText()).toList())
        .as("each request has one answer")
        .containsOnlyOnceElementsOf(asked);
    assertThat(answers.stream().filter(answer -> answer.path("id").isNull()))
        .as("what has no id is answered too")
        .hasSize(135)
        .allMatch(answer -> answer.at("/error/code").asInt() <= -32600);
  }

  /** One line that no client would send, or one that a client sends too; whether it has an id. */
  private static boolean strange(ByteArrayOutputStream input, int i, String id) {
    switch (i % 9) {
      case 0 -> line(input, request(id, "\"ping\""));
      case 1 -> line(input, "{".repeat(1 + i));
      case 2 -> line(input, "[".repeat(20_000) + "]".repeat(20_000));
      case 3 -> line(input, request(id, "7"));
      case 4 -> {
        input.writeBytes(request(id, "\"").replace("}", "").getBytes(StandardCharsets.UTF_8));
        input.writeBytes(new byte[] {(byte) 0xff, (byte) 0xc0, 0, 1, 13, '"', '}', '\n'});
      }
      case 5 -> line(input, List.of("5", "null", "[]", "\"x\"", "[{}]").get(i % 5));
      case 6 -> line(input, request(id, "\"" + "m".repeat(100_000) + "\""));
      case 7 ->
          line(
              input,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"r"
                  + (i - 1)
                  + "\"}}");
      default -> line(input, request(id, "\"tools/call\",\"params\":" + "[1]"));
    }
    return i % 9 == 0 || i % 9 == 3 || i % 9 == 8;
  }

  private static String request(String id, String method) {
    return "{\"jsonrpc\":\"2.0\",\"id\":\"" + id + "\",\"method\":" + method + "}";
  }

  private static void line(ByteArrayOutputStream input, String text) {
    input.writeBytes((text + "\n").getBytes(StandardCharsets.UTF_8));
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
