package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Package clients in a sandbox, with the preset that lets them reach what the host's own use. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PackagesIT {
  private static final String NPM =
      "npm install --no-audit --no-fund --fetch-retries 0 is-odd && node -e \"require('is-odd')\"";
  private static final String PIP =
      "/usr/bin/python3 -m pip install --retries 1 --no-cache-dir --target lib six"
          + " && PYTHONPATH=lib /usr/bin/python3 -c 'import six; print(six.__file__)'";

  private ServerProcess server;
  private Api api;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    // Where this runs without the internet, a mirror answers from a range for documentation.
    server =
        Carrel.start(
            folder,
            Map.of(
                "CARREL_EGRESS_ALLOW_PRIVATE",
                "203.0.113.0/24",
                "CARREL_PACKAGE_DENY",
                "is-buffer"));
    api = new Api(server.address(), server.token());
  }

  @AfterAll
  void end() throws Exception {
    api.close();
    server.close();
  }

  @Test
  void clientsInstallThroughTheProxy() {
    try (Box box = api.create("{\"memory_mb\":2048,\"network\":{\"presets\":[\"packages\"]}}")) {
      assertThat(box.shell(NPM)).endsWith("exit 0");
      assertThat(box.shell(PIP)).contains("/workspace/lib/six.py").endsWith("exit 0");
      assertThat(api.get(box.path() + "/egress/decisions").text())
          .contains("preset packages", "\"allowed\"")
          .doesNotContain("\"denied\"");
    }
  }

  @Test
  void packagesAreInstalledAndTold() {
    try (Box box = api.create("{\"memory_mb\":2048,\"network\":{\"presets\":[\"packages\"]}}")) {
      JsonNode npm = install(box, "{\"manager\":\"npm\",\"packages\":[\"is-odd@3.0.1\"]}").json();
      assertThat(npm.get("success").asBoolean()).as(npm.toString()).isTrue();
      assertThat(npm.at("/packages/0/version").asText()).isEqualTo("3.0.1");
      assertThat(box.shell("node -e \"require('is-odd')\"")).endsWith("exit 0");
      assertThat(api.get("/api/v1/audit?action=package.install&sandbox=" + box.id()).text())
          .contains("is-odd 3.0.1");
      assertThat(api.get("/api/v1/events?recent=100&type=package.installed").text())
          .contains(box.id());

      JsonNode missing =
          install(box, "{\"manager\":\"npm\",\"packages\":[\"is-odd@999.0.0\"]}").json();
      assertThat(missing.get("success").asBoolean()).isFalse();
      assertThat(missing.get("exit_code").asInt()).isNotZero();
    }
  }

  @Test
  void aSandboxBeginsWithItsPackages() {
    String body =
        "{\"memory_mb\":2048,\"network\":{\"presets\":[\"packages\"]},\"packages\":["
            + "{\"manager\":\"npm\",\"packages\":[\"is-odd@3.0.1\"]}]}";
    Api.Answer made = api.call("POST", "/api/v1/sandboxes", body);
    assertThat(made.status()).as(made.text()).isEqualTo(201);
    String id = made.json().get("id").asText();
    JsonNode npm = made.json().at("/packages/0");
    assertThat(npm.get("success").asBoolean()).as(npm.toString()).isTrue();
    // What it needs was chosen with it.
    assertThat(npm.get("resolved").toString()).contains("is-odd", "is-number");
    assertThat(api.get("/api/v1/sandboxes/" + id).json().get("packages").isNull()).isTrue();
    assertThat(
            api.call(
                    "POST",
                    "/api/v1/sandboxes/" + id + "/exec",
                    "{\"command\":\"node -e \\\"require('is-odd')\\\"\"}")
                .json()
                .get("exit_code")
                .asInt())
        .isZero();
    api.call("DELETE", "/api/v1/sandboxes/" + id, "");
  }

  @Test
  void rulesSeeWhatAPackageNeedsAndNothingIsLeftOfIt() {
    long before = api.get("/api/v1/sandboxes").json().get("total").asLong();
    String body =
        "{\"memory_mb\":2048,\"network\":{\"presets\":[\"packages\"]},\"packages\":["
            + "{\"manager\":\"npm\",\"packages\":[\"is-even@1.0.0\"]}]}";
    Api.Answer refused = api.call("POST", "/api/v1/sandboxes", body);
    assertThat(refused.status()).as(refused.text()).isEqualTo(422);
    assertThat(refused.text()).contains("'is-buffer', which is needed, is refused by package.deny");
    assertThat(api.get("/api/v1/sandboxes").json().get("total").asLong()).isEqualTo(before);
  }

  @Test
  void pipInstallsExactlyWhatItChose() {
    try (Box box = api.create("{\"memory_mb\":2048,\"network\":{\"presets\":[\"packages\"]}}")) {
      JsonNode pip = install(box, "{\"manager\":\"pip\",\"packages\":[\"attrs==25.3.0\"]}").json();
      assertThat(pip.get("success").asBoolean()).as(pip.toString()).isTrue();
      assertThat(pip.at("/packages/0/version").asText()).isEqualTo("25.3.0");
      assertThat(pip.at("/resolved/0/name").asText()).isEqualTo("attrs");
      assertThat(box.shell("python3 -c 'import attrs'")).endsWith("exit 0");
    }
  }

  @Test
  void anAgentsToolInstallsAndTheNextSandboxDownloadsNothing() throws Exception {
    String body = "{\"memory_mb\":2048,\"network\":{\"presets\":[\"packages\"]}}";
    try (Box first = api.create(body);
        Box second = api.create(body)) {
      JsonNode tool = installByTool(first, "iniconfig==2.1.0");
      assertThat(tool.at("/result/structuredContent/success").asBoolean())
          .as(tool.toString())
          .isTrue();
      assertThat(first.shell("python3 -c 'import iniconfig'")).endsWith("exit 0");

      JsonNode pip =
          install(second, "{\"manager\":\"pip\",\"packages\":[\"iniconfig==2.1.0\"]}").json();
      assertThat(pip.get("success").asBoolean()).as(pip.toString()).isTrue();
      assertThat(pip.get("files_cached").asInt()).as(pip.toString()).isEqualTo(1);
      assertThat(pip.get("files_fetched").asInt()).isZero();
      assertThat(second.shell("python3 -c 'import iniconfig'")).endsWith("exit 0");
    }
  }

  private JsonNode installByTool(Box box, String wanted) throws Exception {
    String call =
        """
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"install_package",\
        "arguments":{"session_id":"%s","package":"%s"},\
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",\
        "io.modelcontextprotocol/clientCapabilities":{}}}}
        """
            .formatted(box.id(), wanted);
    HttpRequest request =
        HttpRequest.newBuilder(server.address().resolve("/mcp"))
            .header("Authorization", "Bearer " + server.token())
            .header("Content-Type", "application/json")
            // Without streams the answer comes as one, however long it takes.
            .header("Accept", "application/json")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "install_package")
            .POST(BodyPublishers.ofString(call))
            .build();
    try (HttpClient client = HttpClient.newHttpClient()) {
      return Api.JSON.readTree(client.send(request, BodyHandlers.ofString()).body());
    }
  }

  @Test
  void aPolicyThatForbidsItIsNamed() {
    try (Box box = api.create("{\"memory_mb\":2048}")) {
      Api.Answer refused = install(box, "{\"manager\":\"npm\",\"packages\":[\"is-odd\"]}");
      assertThat(refused.status()).as(refused.text()).isEqualTo(403);
      assertThat(refused.text()).contains("does not let npm reach", "--preset packages");
      assertThat(install(box, "{\"manager\":\"npm\",\"packages\":[\"--registry=x\"]}").status())
          .isEqualTo(422);
    }
  }

  private Api.Answer install(Box box, String body) {
    return api.call("POST", box.path() + "/packages", body);
  }

  @Test
  void withoutThePresetTheyFailAndSayWhy() {
    try (Box box = api.create("{\"memory_mb\":2048}")) {
      assertThat(box.shell(NPM))
          .contains("403 Egress not_allowed: no rule of this sandbox's policy allows")
          .doesNotContain("exit 0");
      assertThat(box.shell(PIP))
          .contains("403 Egress not_allowed: no rule of this sandbox's policy allows")
          .doesNotContain("exit 0");
    }
  }
}
