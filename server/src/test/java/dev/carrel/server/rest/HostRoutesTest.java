package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.host.CommandPattern;
import dev.carrel.control.host.HostSettings;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.mcp.McpClient;
import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class HostRoutesTest {
  private static final String ALL = "/api/v1/host";

  @TempDir private static Path folder;
  private static LiveServer server;

  @BeforeAll
  static void start() throws IOException {
    Files.writeString(folder.resolve("note"), "hello");
    HostSettings off = HostSettings.off();
    var on =
        new HostSettings(
            true,
            List.of(CommandPattern.parse("printf **"), CommandPattern.parse("false")),
            off.blocked(),
            List.of(),
            List.of(folder.toRealPath()),
            off.hidden(),
            off.path(),
            Map.of(),
            Duration.ofSeconds(30),
            Duration.ofSeconds(60),
            DataSize.ofMebibytes(1),
            DataSize.ofMebibytes(1),
            4,
            off.maxMemory(),
            off.maxProcesses());
    server = LiveServer.start(LiveServer.settings(), defaults -> defaults.withHost(on));
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static Answer as(String token, String method, String path, String json) {
    return server.send(
        server
            .request(method, path, BodyPublishers.ofString(json))
            .setHeader("Authorization", "Bearer " + token)
            .build());
  }

  private static Answer agent(String path, String json) {
    return as(LiveServer.AGENT, "POST", ALL + path, json);
  }

  private static String path(String name) throws IOException {
    return folder.toRealPath().resolve(name).toString();
  }

  @Test
  void onlyATokenWithThePermissionGetsIn() {
    for (String token : List.of(LiveServer.ADA, LiveServer.ADMIN)) {
      Answer refused = as(token, "POST", ALL + "/exec", "{\"command\":[\"printf\",\"x\"]}");
      assertThat(refused.status()).isEqualTo(403);
      assertThat(refused.text()).contains("permission");
      assertThat(as(token, "GET", ALL, "").status()).isEqualTo(403);
    }
    Answer key =
        as(
            LiveServer.ADMIN,
            "POST",
            "/api/v1/keys",
            "{\"name\":\"k\",\"tenant\":\"acme\",\"principal\":\"kay\",\"permissions\":[\"host\"]}");
    assertThat(key.json().get("permissions").get(0).asText()).isEqualTo("host");
    String secret = key.json().get("key").asText();
    assertThat(as(secret, "GET", ALL, "").status()).isEqualTo(200);
    Answer own =
        as(LiveServer.AGENT, "POST", "/api/v1/keys", "{\"name\":\"k\",\"permissions\":[\"host\"]}");
    assertThat(own.status()).isEqualTo(403);
    Answer odd =
        as(LiveServer.ADMIN, "POST", "/api/v1/keys", "{\"name\":\"k\",\"permissions\":[\"all\"]}");
    assertThat(odd.field()).isEqualTo("permissions");
  }

  @Test
  void commandsRunAsListsAndAsLines() {
    JsonNode listed = agent("/exec", "{\"command\":[\"printf\",\"%s\",\"a;b\"]}").json();
    assertThat(listed.get("stdout").asText()).isEqualTo("a;b");
    assertThat(listed.get("exit_code").asInt()).isZero();
    assertThat(agent("/exec", "{\"command\":\"printf %s 'a;b'\"}").json().get("stdout").asText())
        .isEqualTo("a;b");
    assertThat(agent("/exec", "{\"command\":\"false\"}").json().get("exit_code").asInt())
        .isEqualTo(1);
  }

  @Test
  void whatIsWrongIsSaid() throws IOException {
    assertThat(agent("/exec", "{}").field()).isEqualTo("command");
    assertThat(agent("/exec", "{\"command\":[]}").field()).isEqualTo("command");
    assertThat(agent("/exec", "{\"command\":7}").field()).isEqualTo("command");
    assertThat(agent("/exec", "{\"command\":\"printf a; id\"}").field()).isEqualTo("command");
    assertThat(agent("/exec", "{\"command\":[\"printf\",\"a\\nb\"]}").field()).isEqualTo("command");
    assertThat(agent("/exec", "{\"command\":[\"printf\",\"\\u0000\"]}").field())
        .isEqualTo("command");
    assertThat(agent("/exec", "{\"command\":[\"printf\"],\"timeout_seconds\":0}").field())
        .isEqualTo("timeout_seconds");
    assertThat(agent("/exec", "{\"command\":[\"printf\"],\"cwd\":\"/etc\"}").status())
        .isEqualTo(403);
    assertThat(agent("/exec", "{\"command\":[\"bash\",\"-c\",\"id\"]}").text()).contains("blocked");
    Answer unknown = agent("/exec", "{\"command\":[\"cat\",\"/etc/passwd\"]}");
    assertThat(unknown.status()).isEqualTo(403);
    assertThat(unknown.text()).contains("carrel host access request -- cat /etc/passwd");
    assertThat(agent("/read", "{\"path\":\"/etc/passwd\"}").status()).isEqualTo(403);
    assertThat(agent("/read", "{\"path\":\"note\"}").field()).isEqualTo("path");
    assertThat(agent("/read", "{\"path\":\"%s\"}".formatted(path("none"))).status()).isEqualTo(404);
    assertThat(agent("/write", "{\"path\":\"%s\"}".formatted(path("x"))).field())
        .isEqualTo("content");
    assertThat(
            agent(
                    "/write",
                    "{\"path\":\"%s\",\"content\":\"?\",\"base64\":true}".formatted(path("x")))
                .field())
        .isEqualTo("content");
    assertThat(agent("/copy", "{\"source\":\"/x\"}").field()).isEqualTo("destination");
    assertThat(agent("/list", "{\"path\":\"/proc\"}").status()).isEqualTo(403);
  }

  @Test
  void filesAreWrittenReadListedAndCopied() throws IOException {
    assertThat(
            agent("/write", "{\"path\":\"%s\",\"content\":\"w\"}".formatted(path("w")))
                .json()
                .get("size")
                .asInt())
        .isEqualTo(1);
    assertThat(
            agent(
                    "/copy",
                    "{\"source\":\"%s\",\"destination\":\"%s\"}".formatted(path("note"), path("c")))
                .json()
                .get("size")
                .asInt())
        .isEqualTo(5);
    assertThat(
            agent("/read", "{\"path\":\"%s\"}".formatted(path("c"))).json().get("content").asText())
        .isEqualTo("hello");
    assertThat(
            agent(
                    "/read",
                    "{\"path\":\"%s\",\"base64\":true,\"offset\":1,\"limit\":2}"
                        .formatted(path("c")))
                .json()
                .get("content")
                .asText())
        .isEqualTo("ZWw=");
    assertThat(
            agent("/list", "{\"path\":\"%s\"}".formatted(folder.toRealPath()))
                .json()
                .findValuesAsText("name"))
        .contains("note", "w", "c");
  }

  @Test
  void anApprovalOpensOneCommandOnce() {
    String ask =
        "{\"kind\":\"host_command\",\"subject\":\"seq 3\",\"scope\":\"once\",\"reason\":\"count\"}";
    assertThat(as(LiveServer.ADA, "POST", "/api/v1/approvals", ask).status()).isEqualTo(403);
    JsonNode asked = as(LiveServer.AGENT, "POST", "/api/v1/approvals", ask).json();
    assertThat(agent("/exec", "{\"command\":\"seq 3\"}").status()).isEqualTo(403);
    String decision = "/api/v1/approvals/" + asked.get("id").asText() + "/decision";
    assertThat(as(LiveServer.AGENT, "POST", decision, "{\"approve\":true}").status())
        .isEqualTo(403);
    as(LiveServer.ADMIN, "POST", decision, "{\"approve\":true}");
    assertThat(as(LiveServer.AGENT, "GET", ALL, "").json().at("/approvals").toString())
        .contains("seq 3");
    assertThat(agent("/exec", "{\"command\":\"seq 4\"}").status()).isEqualTo(403);
    assertThat(agent("/exec", "{\"command\":\"seq 3\"}").json().get("stdout").asText())
        .isEqualTo("1\n2\n3\n");
    assertThat(agent("/exec", "{\"command\":\"seq 3\"}").status()).isEqualTo(403);
  }

  @Test
  void theToolsAreThoseOfThisServerAndSayWhatTheyDo() throws IOException {
    var client = new McpClient(server, "/mcp?tools=host", LiveServer.AGENT);
    JsonNode tools = client.modern("tools/list", "{}").result().get("tools");
    assertThat(tools.findValuesAsText("name"))
        .containsExactly(
            "host_exec",
            "request_host_access",
            "list_host_access",
            "host_file_read",
            "host_file_write",
            "host_file_list",
            "host_file_copy");
    assertThat(tools.get(0).at("/annotations/destructiveHint").asBoolean()).isTrue();
    assertThat(tools.get(3).at("/annotations/readOnlyHint").asBoolean()).isTrue();
    assertThat(
            client
                .call("host_exec", "{\"argv\":[\"printf\",\"x;y\"]}")
                .at("/structuredContent/stdout")
                .asText())
        .isEqualTo("x;y");
    JsonNode refused = client.call("host_exec", "{\"command\":\"cat /etc/passwd\"}");
    assertThat(refused.get("isError").asBoolean()).isTrue();
    assertThat(refused.toString()).contains("nobody has allowed");
    assertThat(
            client
                .call("request_host_access", "{\"command\":\"seq *\",\"scope\":\"namespace\"}")
                .at("/structuredContent/status")
                .asText())
        .isEqualTo("pending");
    assertThat(client.call("list_host_access", "{}").at("/structuredContent/pending").toString())
        .contains("seq *");
    assertThat(
            client
                .call("host_file_read", "{\"path\":\"%s\"}".formatted(path("note")))
                .at("/structuredContent/content")
                .asText())
        .isEqualTo("hello");
    var ada = new McpClient(server, "/mcp?tools=host");
    assertThat(ada.call("host_exec", "{\"command\":\"false\"}").toString()).contains("permission");
  }

  @Test
  void withoutTheSettingThereIsNothing() {
    try (LiveServer plain = LiveServer.start()) {
      var request =
          plain
              .request("POST", ALL + "/exec", BodyPublishers.ofString("{\"command\":[\"id\"]}"))
              .setHeader("Authorization", "Bearer " + LiveServer.AGENT)
              .build();
      Answer refused = plain.send(request);
      assertThat(refused.status()).isEqualTo(403);
      assertThat(refused.text()).contains("host.enabled=true");
      var client = new McpClient(plain, "/mcp?tools=host", LiveServer.AGENT);
      assertThat(client.modern("tools/list", "{}").error()).isEqualTo(-32602);
    }
  }
}
