package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(120)
class AuditRoutesTest {
  private final LiveServer server;

  AuditRoutesTest(LiveServer server) {
    this.server = server;
  }

  private Answer as(String token, String method, String path) {
    return server.send(
        server
            .request(method, path, BodyPublishers.noBody())
            .setHeader("Authorization", "Bearer " + token)
            .build());
  }

  private List<JsonNode> records(String query) {
    return server.get("/api/v1/audit" + query).json().get("records").valueStream().toList();
  }

  private static List<String> actions(List<JsonNode> records) {
    return records.stream().map(record -> record.get("action").asText()).toList();
  }

  @Test
  void whatWasDoneInASandboxIsOnRecordWhenItIsAnswered() {
    String id = server.sandboxId();
    String sandbox = "/api/v1/sandboxes/" + id;
    server.post(sandbox + "/exec", "{\"command\":\"echo out; echo err >&2; exit 3\"}");
    server.post(sandbox + "/code", "{\"language\":\"bash\",\"code\":\"echo cell\"}");
    server.put(sandbox + "/files/a.txt", new byte[] {1, 2, 3});
    server.post(sandbox + "/fs/move", "{\"from\":\"a.txt\",\"to\":\"b.txt\"}");
    server.delete(sandbox + "/files/b.txt");
    server.delete(sandbox);
    List<JsonNode> records = records("?sandbox=" + id);
    assertThat(actions(records))
        .containsSubsequence(
            "sandbox.destroyed",
            "file.remove",
            "file.move",
            "file.write",
            "code.run",
            "exec.run",
            "sandbox.running",
            "sandbox.created");
    JsonNode exec = records("?sandbox=" + id + "&action=exec.run").getFirst();
    assertThat(exec.get("principal").asText()).isEqualTo("ada");
    assertThat(exec.get("exit_code").asInt()).isEqualTo(3);
    assertThat(exec.get("cause").asText()).isEqualTo("returned");
    assertThat(exec.get("stdout").asText()).isEqualTo("out\n");
    assertThat(exec.get("stderr").asText()).isEqualTo("err\n");
    assertThat(exec.get("request_digest").asText()).hasSize(64);
    assertThat(exec.get("isolation").asText()).isEqualTo("none");
    assertThat(exec.get("details").get("command").asText()).contains("exit 3");
    assertThat(actions(records("?sandbox=" + id + "&action=file")))
        .containsExactly("file.remove", "file.move", "file.write");
  }

  @Test
  void anotherTenantsRecordsDoNotExist() {
    String id = server.sandboxId();
    server.post("/api/v1/sandboxes/" + id + "/exec", "{\"command\":\"true\"}");
    assertThat(records("?sandbox=" + id)).isNotEmpty();
    assertThat(as(LiveServer.BOB, "GET", "/api/v1/audit?sandbox=" + id).json().get("records"))
        .isEmpty();
    assertThat(as(LiveServer.BOB, "GET", "/api/v1/audit/export").text()).doesNotContain(id);
    assertThat(as(LiveServer.ADMIN, "GET", "/api/v1/audit?sandbox=" + id).json().get("records"))
        .isNotEmpty();
  }

  @Test
  void pagesFollowEachOther() {
    String id = server.sandboxId();
    for (int i = 0; i < 5; i++) {
      server.post("/api/v1/sandboxes/" + id + "/exec", "{\"command\":\"true\"}");
    }
    JsonNode first = server.get("/api/v1/audit?action=exec&limit=3&sandbox=" + id).json();
    assertThat(first.get("records")).hasSize(3);
    List<JsonNode> rest =
        records("?action=exec&limit=3&sandbox=" + id + "&before=" + first.get("next").asText());
    assertThat(rest).hasSize(2);
    assertThat(rest.getFirst().get("sequence").asLong()).isLessThan(first.get("next").asLong());
    assertThat(server.get("/api/v1/audit?limit=0").field()).isEqualTo("limit");
    assertThat(server.get("/api/v1/audit?since=yesterday").field()).isEqualTo("since");
  }

  @Test
  void whatCannotBeReadIsRefusedBeforeAnythingIsSaid() {
    for (String since : List.of("-1000000000-01-01T00:00:00Z", "%2B1000000000-12-31T23:59:59Z")) {
      assertThat(server.get("/api/v1/audit?since=" + since).status()).as(since).isEqualTo(422);
      assertThat(server.get("/api/v1/audit/export?since=" + since).status()).isEqualTo(422);
    }
    Answer lost =
        server.send(
            server
                .request("GET", "/api/v1/audit", BodyPublishers.noBody())
                .header("Accept", "text/event-stream")
                .header("Last-Event-ID", "the last one")
                .build());
    assertThat(lost.status()).as(lost.text()).isEqualTo(422);
  }

  @Test
  void onlyAnAdministratorVerifies() {
    assertThat(server.post("/api/v1/audit/verify").code()).isEqualTo("forbidden");
    server.sandboxId();
    JsonNode verdict = as(LiveServer.ADMIN, "POST", "/api/v1/audit/verify").json();
    assertThat(verdict.get("intact").asBoolean()).as(verdict.toString()).isTrue();
    assertThat(verdict.get("records").asLong()).isPositive();
    assertThat(server.get("/api/v1/audit/key").json().get("algorithm").asText())
        .isEqualTo("Ed25519");
  }

  @Test
  void theExportHasARecordALineOldestFirst() {
    String id = server.sandboxId();
    server.post("/api/v1/sandboxes/" + id + "/exec", "{\"command\":\"true\"}");
    List<String> lines = server.get("/api/v1/audit/export?sandbox=" + id).text().lines().toList();
    assertThat(lines).hasSize(3);
    assertThat(lines.getFirst()).contains("\"action\":\"sandbox.created\"");
    assertThat(lines.getLast()).contains("\"action\":\"exec.run\"");
  }

  @Test
  void newRecordsFollowLive() throws IOException {
    String id = server.sandboxId();
    String seen = String.valueOf(records("?limit=1").getFirst().get("sequence").asLong());
    var request =
        server
            .request("GET", "/api/v1/audit?sandbox=" + id, BodyPublishers.noBody())
            .header("Accept", "text/event-stream")
            .header("Last-Event-ID", seen)
            .build();
    try (var reader = new EventReader(server.stream(request).body())) {
      server.post("/api/v1/sandboxes/" + id + "/exec", "{\"command\":\"true\"}");
      LiveServer.Event event = reader.next("record");
      assertThat(event.name()).isEqualTo("record");
      assertThat(event.data().get("action").asText()).isEqualTo("exec.run");
    }
  }
}
