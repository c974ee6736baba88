package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(SharedServer.class)
class EgressRoutesTest {
  private static final String ALL = "/api/v1/sandboxes";
  private static final String POLICY =
      """
      {"allow":["*.Example.com.","mirror.example:8443 GET,HEAD /simple/*"],"deny":["bad.example.com"],
       "presets":["github"],"max_bytes":1000000,"bytes_per_second":65536}
      """;

  private final LiveServer server;

  EgressRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void policyIsGivenAtCreateShownAndReplaced() {
    Answer created = server.post(ALL, "{\"network\":" + POLICY + "}");
    assertThat(created.status()).isEqualTo(201);
    assertThat(created.json().get("network_enabled").asBoolean()).isTrue();
    String path = ALL + "/" + created.json().get("id").asText();

    JsonNode policy = server.get(path + "/egress").json().get("policy");
    assertThat(policy).isEqualTo(created.json().get("network"));
    assertThat(policy.get("allow").get(0).asText()).isEqualTo("*.example.com");
    assertThat(policy.get("allow").get(1).asText())
        .isEqualTo("mirror.example:8443 GET,HEAD /simple/*");
    assertThat(policy.get("deny").get(0).asText()).isEqualTo("bad.example.com");
    assertThat(policy.get("max_bytes").asLong()).isEqualTo(1_000_000);

    Answer replaced =
        server.put(
            path + "/egress", "{\"allow\":[\"other.example\"]}".getBytes(StandardCharsets.UTF_8));
    assertThat(replaced.status()).isEqualTo(200);
    assertThat(replaced.json().get("policy").get("allow")).hasSize(1);
    assertThat(replaced.json().get("policy").get("presets")).isEmpty();
    assertThat(replaced.json().get("sent_bytes").asLong()).isZero();

    assertThat(server.patch(path, "{\"network_enabled\":false}").json().get("network").get("allow"))
        .isEmpty();
    assertThat(
            server.patch(path, "{\"network_enabled\":true}").json().get("network").get("presets"))
        .extracting(JsonNode::asText)
        .containsExactly("github", "packages");
    assertThat(server.get(path + "/egress/decisions").json().get("decisions")).isEmpty();
    server.delete(path);
  }

  @Test
  void presetsAreListed() {
    JsonNode presets = server.get("/api/v1/egress/presets").json().get("presets");
    assertThat(presets.get("github")).extracting(JsonNode::asText).contains("github.com");
    assertThat(presets.has("packages")).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"allow\":[\"*\"]} | network.allow",
        "{\"allow\":[\"*.com\"]} | network.allow",
        "{\"allow\":[\"127.1\"]} | network.allow",
        "{\"allow\":[\"a.example g(t\"]} | network.allow",
        "{\"allow\":7} | network.allow",
        "{\"deny\":[\"a b\"]} | network.deny",
        "{\"presets\":[\"all\"]} | network.presets",
        "{\"mode\":\"off\"} | network.mode",
        "{\"mode\":\"observe\"} | network.mode",
        "{\"max_bytes\":-1} | network.max_bytes",
        "{\"bytes_per_second\":5} | network.bytes_per_second",
      })
  void whatIsWrongIsNamed(String policy, String field) {
    Answer answer = server.post(ALL, "{\"network\":" + policy + "}");
    assertThat(answer.status()).isEqualTo(422);
    assertThat(answer.json().toString()).contains(field);
  }
}
