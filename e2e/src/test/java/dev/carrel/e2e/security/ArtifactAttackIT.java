package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Code that wants something signed that did not come out of its sandbox, or the server to choke.
 */
@ExtendWith(Carrel.class)
class ArtifactAttackIT {
  private final Api api;
  private Box box;

  ArtifactAttackIT(Api api) {
    this.api = api;
  }

  @BeforeEach
  void create() {
    box = api.create("{}");
  }

  @AfterEach
  void delete() {
    box.close();
  }

  @Test
  void linksAndSpecialFilesAreNeverSigned() {
    JsonNode ended =
        box.exec(
            "mkdir -p outputs; cd outputs; ln -s /etc/shadow a; ln -s /proc/1/environ b; mkfifo c;"
                + " ln -s / d; ln -s ../outputs e; truncate -s 1T sparse; printf good > good");

    assertThat(ended.get("artifacts").findValuesAsText("path"))
        .as("the control, and nothing else")
        .containsExactly("outputs/good");
    JsonNode asked = sign("{\"paths\":[\"outputs\",\"outputs/d/etc/passwd\"]}");
    assertThat(asked.get("artifacts").findValuesAsText("path")).doesNotContain("outputs/a");
    assertThat(asked.get("skipped").findValuesAsText("path"))
        .contains("outputs/a", "outputs/b", "outputs/c", "outputs/sparse");
  }

  @Test
  void namesStayNames() throws GeneralSecurityException, IOException {
    JsonNode ended =
        box.exec(
            "mkdir -p outputs; cd outputs; printf 1 > $'\\n2cf24dba\\n5'; printf 2 > $'\\xff\\xfe';"
                + " printf 3 > '\"}],\"subject\":[{\"name\":\"x'; printf 4 > $'\\e]0;t\\a'");

    assertThat(ended.get("artifacts")).as(ended.toString()).hasSize(3);
    JsonNode manifest = api.get(box.path() + "/artifacts/manifest").json();
    byte[] payload = Base64.getDecoder().decode(manifest.get("payload").asText());
    JsonNode statement = Api.JSON.readTree(payload);
    assertThat(statement.get("subject")).hasSize(3);
    assertThat(statement.get("subject").findValuesAsText("name")).doesNotContain("x");
    for (JsonNode artifact : ended.get("artifacts")) {
      String line =
          "carrel artifact 1\n%s\n%d\n"
              .formatted(artifact.get("sha256").asText(), artifact.get("size_bytes").asLong());
      assertThat(genuine(line, artifact.get("signature").asText())).isTrue();
      assertThat(genuine(line + " ", artifact.get("signature").asText())).isFalse();
    }
  }

  @Test
  void aFileThatIsSwappedAllTheTimeIsSignedAsItCame() {
    box.exec("mkdir -p outputs; printf aaaa > one; printf bbbb > two; cp one outputs/f");
    box.exec(
        "nohup bash -c 'end=$((SECONDS+3)); while [ $SECONDS -lt $end ]; do cp -f one t && mv t"
            + " outputs/f; ln -sfn /etc/hostname outputs/f; cp -f two t && mv t outputs/f; done'"
            + " >/dev/null 2>&1 &");
    int signatures = 0;
    for (int i = 0; i < 30; i++) {
      for (JsonNode signed : sign("{\"paths\":[\"outputs/f\"]}").get("artifacts")) {
        assertThat(signed.get("size_bytes").asLong()).as("a link was followed").isEqualTo(4);
        signatures++;
      }
    }
    assertThat(signatures).isPositive();
  }

  @Test
  void aFloodOfFilesIsBounded() {
    JsonNode ended =
        box.exec("mkdir -p outputs; cd outputs; for i in $(seq 2000); do : > f$i; done");

    assertThat(ended.get("artifacts").size()).isBetween(1, 256);
    assertThat(ended.get("artifacts_truncated").asBoolean()).isTrue();
    assertThat(box.exec("echo alive").get("stdout").asText()).isEqualTo("alive\n");
  }

  private JsonNode sign(String body) {
    return api.call("POST", box.path() + "/artifacts", body).json();
  }

  private boolean genuine(String statement, String signature) throws GeneralSecurityException {
    String key = api.get("/api/v1/audit/key").json().get("public_key").asText();
    Signature ed25519 = Signature.getInstance("Ed25519");
    ed25519.initVerify(
        KeyFactory.getInstance("Ed25519")
            .generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(key))));
    ed25519.update(statement.getBytes(StandardCharsets.US_ASCII));
    return ed25519.verify(Base64.getDecoder().decode(signature));
  }
}
