package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class SandboxRoutesTest {
  private static final String ALL = "/api/v1/sandboxes";

  private final LiveServer server;

  SandboxRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void aSandboxIsCreatedShownChangedAndDeleted() {
    Answer created =
        server.post(
            ALL,
            """
            {"image":"host","memory_mb":256,"cpu_cores":0.5,"pids":64,"idle_timeout_seconds":60,
             "env_vars":{"A":"b"},"metadata":{"k":"v"},"unknown":[1,2]}
            """);
    assertThat(created.status()).isEqualTo(201);
    JsonNode sandbox = created.json();
    String path = ALL + "/" + sandbox.get("id").asText();
    assertThat(created.header("Location")).isEqualTo(path);
    assertThat(sandbox.get("status").asText()).isEqualTo("running");
    assertThat(sandbox.get("isolation").asText()).isEqualTo("none");
    assertThat(sandbox.get("workspace_path").asText()).isEqualTo("/workspace");
    assertThat(sandbox.get("memory_mb").asInt()).isEqualTo(256);
    assertThat(sandbox.get("cpu_cores").asDouble()).isEqualTo(0.5);
    assertThat(sandbox.get("disk_mb").asInt()).isEqualTo(1024);
    assertThat(sandbox.get("user_id").asText()).isEqualTo("acme");
    assertThat(sandbox.get("network_enabled").asBoolean()).isFalse();

    assertThat(server.get(path).json().get("metadata").get("k").asText()).isEqualTo("v");
    Answer patched = server.patch(path, "{\"idle_timeout_seconds\":90,\"metadata\":{\"k\":\"w\"}}");
    assertThat(patched.json().get("idle_timeout_seconds").asInt()).isEqualTo(90);
    assertThat(patched.json().get("metadata").get("k").asText()).isEqualTo("w");

    assertThat(server.delete(path).status()).isEqualTo(204);
    assertThat(server.get(path).status()).isEqualTo(404);
  }

  @Test
  void whatIsFixedWhileItRunsIsAConflict() {
    String path = server.sandbox();
    for (String change :
        new String[] {
          "{\"memory_mb\":1024}",
          "{\"cpu_cores\":2}",
          "{\"env_vars\":{\"A\":\"1\"}}",
          "{\"disk_mb\":2048}"
        }) {
      Answer answer = server.patch(path, change);
      assertThat(answer.status()).as(change).isEqualTo(409);
    }
  }

  @Test
  void whatNeverChangesIsRefusedUnlessItIsSoAlready() {
    String path = server.sandbox();
    for (String field :
        new String[] {
          "\"image\":\"debian\"",
          "\"engine\":\"docker\"",
          "\"isolation\":\"gvisor\"",
          "\"isolated\":true",
          "\"rootfs\":\"overlay\"",
          "\"ephemeral\":true",
          "\"volume\":\"datasets\"",
          "\"snapshot_id\":\"snabcdefghijklmn\"",
          "\"session_key\":\"k\"",
          "\"namespace\":\"lab\"",
          "\"secrets\":[\"TOKEN\"]",
          "\"budget\":{\"executions\":1}",
          "\"packages\":[{\"manager\":\"pip\",\"packages\":[\"six\"]}]"
        }) {
      Answer answer = server.patch(path, "{\"pids\":100," + field + "}");
      assertThat(answer.status()).as(field).isEqualTo(409);
      assertThat(answer.json().get("detail").asText())
          .startsWith(field.substring(1, field.indexOf(':') - 1) + ":");
    }
    // The whole of it as it was told, with one thing changed.
    ObjectNode told = server.get(path).json().deepCopy();
    told.putObject("metadata").put("k", "v");
    told.put("ephemeral", false);
    Answer same = server.patch(path, told.toString());
    assertThat(same.status()).as(same.text()).isEqualTo(200);
    assertThat(same.json().get("metadata").get("k").asText()).isEqualTo("v");
  }

  @Test
  void theSameSessionKeyIsTheSameSandbox() {
    String body = "{\"session_key\":\"notebook\"}";
    Answer first = server.post(ALL, body);
    assertThat(first.status()).isEqualTo(201);
    String id = first.json().get("id").asText();
    assertThat(server.post(ALL + "/" + id + "/stop").status()).isEqualTo(200);
    Answer second = server.post(ALL, body);
    assertThat(second.status()).isEqualTo(200);
    assertThat(second.json().get("id").asText()).isEqualTo(id);
    assertThat(second.json().get("status").asText()).isEqualTo("running");
  }

  @Test
  void aStoppedSandboxSaysHowToGoOnAndDoes() {
    String path = server.sandbox();
    server.post(path + "/exec", "{\"command\":\"echo kept > file\"}");
    JsonNode stopped = server.post(path + "/stop").json();
    assertThat(stopped.get("status").asText()).isEqualTo("stopped");
    assertThat(stopped.get("persistent").asBoolean()).isTrue();
    Answer refused = server.post(path + "/exec", "{\"command\":\"true\"}");
    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.code()).isEqualTo("wrong_state");
    assertThat(refused.json().get("hint").asText()).contains("start it again");

    assertThat(server.post(path + "/start").json().get("status").asText()).isEqualTo("running");
    Answer kept = server.post(path + "/exec", "{\"command\":\"cat file\"}");
    assertThat(kept.json().get("stdout").asText()).isEqualTo("kept\n");
    assertThat(server.get(path).json().get("status").asText()).isEqualTo("running");
    // Running already: nothing to do.
    assertThat(server.post(path + "/resume").status()).isEqualTo(200);
  }

  @Test
  void oneThatHasEndedSaysWhenItGoes() {
    String path = server.sandbox();
    assertThat(server.get(path).json().get("removal_at").isNull()).isTrue();
    JsonNode stopped = server.post(path + "/stop").json();
    Instant removal = Instant.parse(stopped.get("removal_at").asText());
    Instant end = Instant.parse(stopped.get("stopped_at").asText());
    assertThat(Duration.between(end, removal))
        .isBetween(Duration.ofDays(1), Duration.ofDays(1).plusMinutes(1));
    JsonNode changed = server.patch(path, "{}").json();
    assertThat(Instant.parse(changed.get("removal_at").asText())).isAfter(removal);
  }

  @Test
  void anEphemeralSandboxCannotComeBack() {
    String path = ALL + "/" + server.post(ALL, "{\"ephemeral\":true}").json().get("id").asText();
    JsonNode sandbox = server.get(path).json();
    assertThat(sandbox.get("persistent").asBoolean()).isFalse();
    assertThat(sandbox.get("on_idle").asText()).isEqualTo("pause");
    server.post(path + "/stop");
    assertThat(server.post(path + "/start").status()).isEqualTo(410);
    assertThat(server.delete(path).status()).isEqualTo(204);
    assertThat(server.delete(path).status()).isEqualTo(204);
  }

  @Test
  void listsArePaged() {
    server.sandboxId();
    server.sandboxId();
    Answer page = server.get(ALL + "?page=1&page_size=1&sort_order=asc&status=running");
    assertThat(page.json().get("items")).hasSize(1);
    assertThat(page.json().get("total").asInt()).isGreaterThanOrEqualTo(2);
    assertThat(page.json().get("status_counts").get("running").asInt()).isGreaterThanOrEqualTo(2);
    assertThat(server.get(ALL + "?page=9999").json().get("items")).isEmpty();
  }

  @Test
  void anotherTenantsSandboxDoesNotExist() {
    String path = server.sandbox();
    Answer foreign =
        server.send(
            HttpRequest.newBuilder(server.uri(path))
                .header("Authorization", "Bearer " + LiveServer.BOB)
                .build());
    assertThat(foreign.status()).isEqualTo(404);
    assertThat(foreign.code()).isEqualTo("sandbox_not_found");
  }

  @Test
  void enginesAndLanguagesAreListed() {
    JsonNode answer = server.get("/api/v1/engines").json();
    assertThat(answer.get("builders").findValuesAsText("name")).containsExactly("mmdebstrap");
    JsonNode engine = answer.get("engines").get(0);
    assertThat(engine.get("name").asText()).isEqualTo("process");
    assertThat(engine.get("isolation").asText()).isEqualTo("none");
    assertThat(server.get("/api/v1/languages").json().get("languages")).hasSize(4);
  }
}
