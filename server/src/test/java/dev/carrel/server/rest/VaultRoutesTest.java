package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class VaultRoutesTest {
  private static final String SECRETS = "/api/v1/vault/secrets";
  private static final String VALUE = "walrus-and-carpenter";

  private final LiveServer server;

  VaultRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void aSecretGoesInAndNeverComesOut() {
    String body = "{\"name\":\"POEM\",\"namespace\":\"lab\",\"value\":\"" + VALUE + "\"}";
    Answer made = server.post(SECRETS, body);
    assertThat(made.status()).isEqualTo(201);
    assertThat(made.text()).contains("\"version\":1").doesNotContain(VALUE);
    assertThat(server.post(SECRETS, body).status()).isEqualTo(409);
    assertThat(server.get(SECRETS + "?namespace=lab").text())
        .contains("POEM")
        .doesNotContain(VALUE);
    assertThat(server.get(SECRETS).text()).doesNotContain("POEM");

    Answer sandbox = server.post("/api/v1/sandboxes", "{\"namespace\":\"lab\"}");
    String path = "/api/v1/sandboxes/" + sandbox.json().get("id").asText();
    Answer ran =
        server.post(
            path + "/exec",
            "{\"command\":\"echo $POEM ${#POEM}; echo $POEM >&2\",\"secrets\":[\"POEM\"]}");
    assertThat(ran.json().get("stdout").asText()).isEqualTo("***REDACTED*** 20\n");
    assertThat(ran.text()).doesNotContain(VALUE);
    Answer context =
        server.post(path + "/contexts", "{\"language\":\"python\",\"secrets\":[\"POEM\"]}");
    String id = context.json().get("id").asText();
    Answer cell =
        server.post(
            path + "/code",
            "{\"code\":\"import os; os.environ['POEM']\",\"context_id\":\"" + id + "\"}");
    assertThat(cell.text()).contains("***REDACTED***").doesNotContain(VALUE);
    assertThat(server.get(path + "/execs").text()).doesNotContain(VALUE);

    Answer rotated =
        server.post(SECRETS + "/POEM/rotate", "{\"namespace\":\"lab\",\"value\":\"jabberwock\"}");
    assertThat(rotated.json().get("version").asInt()).isEqualTo(2);
    assertThat(server.delete(SECRETS + "/POEM?namespace=lab").status()).isEqualTo(204);
    assertThat(server.delete(SECRETS + "/POEM?namespace=lab").code()).isEqualTo("secret_not_found");
  }

  @Test
  void anotherTenantsSecretDoesNotExist() {
    server.post(SECRETS, "{\"name\":\"MINE\",\"value\":\"" + VALUE + "\"}");

    assertThat(asBob("GET", SECRETS, "").text()).doesNotContain("MINE");
    assertThat(asBob("DELETE", SECRETS + "/MINE", "").status()).isEqualTo(404);
    assertThat(asBob("POST", SECRETS + "/MINE/rotate", "{\"value\":\"stolen-it\"}").code())
        .isEqualTo("secret_not_found");
    assertThat(asBob("POST", "/api/v1/sandboxes", "{\"secrets\":[\"MINE\"]}").code())
        .isEqualTo("secret_not_found");
    assertThat(server.get(SECRETS).text()).contains("MINE");
    server.delete(SECRETS + "/MINE");
  }

  @Test
  void badInputIsRefusedWithoutBeingRepeated() {
    Answer shortOne = server.post(SECRETS, "{\"name\":\"S\",\"value\":\"qzx7!\"}");
    assertThat(shortOne.status()).isEqualTo(422);
    assertThat(shortOne.field()).isEqualTo("value");
    assertThat(shortOne.text()).doesNotContain("qzx7!").contains("hint");
    assertThat(server.post(SECRETS, "{\"name\":\"A-B\",\"value\":\"" + VALUE + "\"}").field())
        .isEqualTo("name");
    assertThat(server.post(SECRETS, "{\"value\":\"" + VALUE + "\"}").field()).isEqualTo("name");
    assertThat(server.get(SECRETS + "?namespace=..").field()).isEqualTo("namespace");
  }

  private Answer asBob(String method, String path, String body) {
    return server.send(
        HttpRequest.newBuilder(server.uri(path))
            .header("Authorization", "Bearer " + LiveServer.BOB)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body))
            .build());
  }
}
