package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class ArtifactRoutesTest {
  private static final String HELLO =
      "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

  private final LiveServer server;

  ArtifactRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void anExecsAnswerNamesWhatItLeft() {
    String path = sandbox();
    Answer ran =
        server.post(
            path + "/exec",
            "{\"command\":\"mkdir -p outputs; printf hello > outputs/a.txt; printf 1 > b\",\"artifacts\":[\"b\",\"none\"]}");
    JsonNode body = ran.json();
    assertThat(body.get("artifacts")).hasSize(2);
    assertThat(body.get("artifacts").findValuesAsText("path"))
        .containsExactlyInAnyOrder("b", "outputs/a.txt");
    assertThat(body.get("artifacts_skipped").findValuesAsText("path")).containsExactly("none");

    Answer listed = server.get(path + "/artifacts?exec=" + body.get("id").asText());
    assertThat(listed.json().get("artifacts")).hasSize(2);
    assertThat(
            server
                .get("/api/v1/artifacts?sha256=" + HELLO)
                .json()
                .get("artifacts")
                .findValuesAsText("path"))
        .contains("outputs/a.txt");
    Answer manifest = server.get(path + "/artifacts/manifest");
    assertThat(manifest.json().get("payloadType").asText())
        .isEqualTo("application/vnd.in-toto+json");
    assertThat(manifest.json().get("signatures")).hasSize(1);
  }

  @Test
  void filesAreSignedWhenAsked() {
    String path = sandbox();
    server.post(path + "/exec", "{\"command\":\"printf hello > a.txt\"}");
    Answer signed = server.post(path + "/artifacts", "{\"paths\":[\"a.txt\"]}");
    assertThat(signed.status()).isEqualTo(200);
    assertThat(signed.json().get("artifacts").get(0).get("sha256").asText()).isEqualTo(HELLO);
    assertThat(signed.json().get("artifacts").get(0).get("exec_id").isNull()).isTrue();
    assertThat(server.post(path + "/artifacts", "{}").json().get("skipped")).hasSize(1);
  }

  @Test
  void nonsenseIsRefused() {
    String path = sandbox();
    assertThat(server.post(path + "/artifacts", "{\"paths\":[\"/etc/passwd\"]}").status())
        .isEqualTo(422);
    assertThat(
            server.post(path + "/exec", "{\"command\":\"true\",\"artifacts\":[\"../x\"]}").status())
        .isEqualTo(422);
    assertThat(server.get("/api/v1/artifacts?sha256=abc").status()).isEqualTo(422);
    assertThat(server.get("/api/v1/artifacts").status()).isEqualTo(422);
    assertThat(server.get(path + "/artifacts?exec=nope").status()).isEqualTo(404);
  }

  private String sandbox() {
    return "/api/v1/sandboxes/" + server.post("/api/v1/sandboxes", "{}").json().get("id").asText();
  }
}
