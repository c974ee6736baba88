package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class SnapshotRoutesTest {
  private static final String SANDBOXES = "/api/v1/sandboxes";
  private static final String SNAPSHOTS = "/api/v1/snapshots";
  private static final String VOLUMES = "/api/v1/volumes";

  private final LiveServer server;

  SnapshotRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void filesAreKeptBroughtBackAndForked() {
    String path = server.sandbox();
    run(path, "echo old > file");
    Answer made = server.post(path + "/snapshots", "{\"name\":\"before\"}");
    assertThat(made.status()).isEqualTo(201);
    String id = made.json().get("id").asText();
    assertThat(made.header("Location")).isEqualTo(SNAPSHOTS + "/" + id);
    run(path, "echo new > file");

    String fork = SANDBOXES + "/" + server.post(path + "/fork").json().get("id").asText();
    Answer restored = server.post(path + "/restore", "{\"snapshot_id\":\"" + id + "\"}");
    assertThat(restored.json().get("status").asText()).isEqualTo("running");
    assertThat(run(path, "cat file")).isEqualTo("old\n");
    assertThat(run(fork, "cat file")).isEqualTo("new\n");
    assertThat(server.get(path + "/snapshots").json().get("snapshots")).hasSize(1);
    assertThat(server.get(SNAPSHOTS).json().get("snapshots")).isNotEmpty();
    assertThat(server.get(SNAPSHOTS + "/" + id).json().get("name").asText()).isEqualTo("before");

    Answer begun = server.post(SANDBOXES, "{\"snapshot_id\":\"" + id + "\"}");
    assertThat(run(SANDBOXES + "/" + begun.json().get("id").asText(), "cat file"))
        .isEqualTo("old\n");
    assertThat(server.delete(SNAPSHOTS + "/" + id).status()).isEqualTo(204);
    assertThat(server.get(SNAPSHOTS + "/" + id).code()).isEqualTo("snapshot_not_found");
    assertThat(server.post(path + "/restore", "{\"snapshot_id\":\"../x\"}").code())
        .isEqualTo("snapshot_not_found");
  }

  @Test
  void aVolumeIsMadeUsedAndRefusedWhileItIsInUse() {
    Answer made = server.post(VOLUMES, "{\"name\":\"datasets\",\"size_mb\":64}");
    assertThat(made.status()).isEqualTo(201);
    assertThat(made.json().get("sandbox_id").isNull()).isTrue();
    assertThat(server.post(VOLUMES, "{\"name\":\"datasets\"}").status()).isEqualTo(409);
    assertThat(server.post(VOLUMES, "{\"name\":\"../up\"}").field()).isEqualTo("name");

    JsonNode sandbox = server.post(SANDBOXES, "{\"volume\":\"datasets\"}").json();
    String id = sandbox.get("id").asText();
    assertThat(sandbox.get("volume").asText()).isEqualTo("datasets");
    assertThat(sandbox.get("disk_mb").asInt()).isEqualTo(64);
    Answer refused = server.post(SANDBOXES, "{\"volume\":\"datasets\"}");
    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.json().get("detail").asText()).contains(id);
    assertThat(server.get(VOLUMES + "/datasets").json().get("sandbox_id").asText()).isEqualTo(id);
    assertThat(server.delete(VOLUMES + "/datasets").status()).isEqualTo(409);
    assertThat(server.post(SANDBOXES, "{\"volume\":\"x\",\"ephemeral\":true}").field())
        .isEqualTo("ephemeral");

    server.delete(SANDBOXES + "/" + id);
    assertThat(server.get(VOLUMES).json().get("volumes")).hasSize(1);
    assertThat(server.delete(VOLUMES + "/datasets").status()).isEqualTo(204);
    assertThat(server.delete(VOLUMES + "/datasets").code()).isEqualTo("volume_not_found");
  }

  @Test
  void newsComeLiveAndAreResumed() throws IOException {
    String first;
    String path;
    try (var events = new EventReader(server.stream(news("/api/v1/events", "")).body())) {
      assertThat(events.next()).isNotNull();
      path = server.sandbox();
      JsonNode created = events.next("sandbox.created").data();
      server.description().conforms("Event", created);
      first = created.get("id").asText();
      assertThat(SANDBOXES + "/" + created.get("sandbox_id").asText()).isEqualTo(path);
    }
    server.post(path + "/stop");
    try (var events = new EventReader(server.stream(news(path + "/events", first)).body())) {
      assertThat(events.next("sandbox.started").data().get("details").get("cause").asText())
          .isEqualTo("created");
      assertThat(events.next("sandbox.stopped").data().get("sandbox_id").asText())
          .isEqualTo(path.substring(SANDBOXES.length() + 1));
    }
    assertThat(server.send(news("/api/v1/events", "x")).status()).isEqualTo(422);
  }

  private HttpRequest news(String path, String after) {
    var request = server.request("GET", path, BodyPublishers.noBody());
    return (after.isEmpty() ? request : request.header("Last-Event-ID", after)).build();
  }

  private String run(String path, String line) {
    return server
        .post(path + "/exec", "{\"command\":\"" + line + "\"}")
        .json()
        .get("stdout")
        .asText();
  }
}
