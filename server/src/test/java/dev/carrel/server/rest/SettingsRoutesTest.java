package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest.BodyPublishers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class SettingsRoutesTest {
  private static final String SETTINGS = "/api/v1/settings/sandbox";

  private final LiveServer server;

  SettingsRoutesTest(LiveServer server) {
    this.server = server;
  }

  @AfterEach
  void asConfigured() {
    assertThat(admin("DELETE", "").json().get("changed")).isEmpty();
  }

  private Answer admin(String method, String json) {
    return server.send(
        server
            .request(method, SETTINGS, BodyPublishers.ofString(json))
            .setHeader("Authorization", "Bearer " + LiveServer.ADMIN)
            .build());
  }

  private JsonNode change(String json) {
    Answer answer = admin("PATCH", json);
    assertThat(answer.status()).as(answer.json().toString()).isEqualTo(200);
    return answer.json();
  }

  @Test
  void onlyAnAdministratorMay() {
    assertThat(server.get(SETTINGS).code()).isEqualTo("forbidden");
    assertThat(
            server
                .send(server.request("PATCH", SETTINGS, BodyPublishers.ofString("{}")).build())
                .status())
        .isEqualTo(403);
    assertThat(
            server
                .send(server.request("DELETE", SETTINGS, BodyPublishers.noBody()).build())
                .status())
        .isEqualTo(403);
  }

  @Test
  void aDefaultIsForWhatComesAfterIt() {
    String before = server.sandbox();
    long usual = server.get(before).json().get("memory_mb").asLong();

    JsonNode now = change("{\"memory_mb\":96,\"unknown\":1}");

    assertThat(now.get("memory_mb").asLong()).isEqualTo(96);
    assertThat(now.get("configured").get("memory_mb").asLong()).isEqualTo(usual);
    assertThat(now.get("changed").toString()).isEqualTo("[\"memory_mb\"]");
    assertThat(server.get(server.sandbox()).json().get("memory_mb").asLong()).isEqualTo(96);
    assertThat(server.get(before).json().get("memory_mb").asLong()).isEqualTo(usual);
    assertThat(change("{\"memory_mb\":null}").get("changed")).isEmpty();
    assertThat(server.get(server.sandbox()).json().get("memory_mb").asLong()).isEqualTo(usual);
  }

  @Test
  void poolsAreEnabledThoughNoneIsThereJustNow() {
    try (LiveServer quiet = LiveServer.start()) {
      assertThat(pools(quiet).get("per_image")).isEmpty();
      assertThat(pools(quiet).get("warm_pool_enabled").asBoolean()).isTrue();

      quiet.control().sandboxes().pools().enable(false);
      assertThat(pools(quiet).get("warm_pool_enabled").asBoolean()).isFalse();
    }
    var none = PoolSettings.defaults().withAhead(0);
    try (LiveServer cold = LiveServer.start(LiveServer.settings(), d -> d.withPools(none))) {
      assertThat(pools(cold).get("warm_pool_enabled").asBoolean()).isFalse();
    }
  }

  private static JsonNode pools(LiveServer server) {
    return server
        .send(
            server
                .request("GET", SETTINGS + "/pool-summary", BodyPublishers.noBody())
                .setHeader("Authorization", "Bearer " + LiveServer.ADMIN)
                .build())
        .json();
  }

  @Test
  void aLimitHoldsAtOnce() {
    change("{\"max_memory_mb\":600}");
    assertThat(server.post("/api/v1/sandboxes", "{\"memory_mb\":601}").field())
        .isEqualTo("memory_mb");
    change("{\"max_concurrent_executions\":7,\"max_queued\":3}");
    JsonNode line = server.get("/api/v1/queue").json().get("lines").get(1);
    assertThat(line.get("limit").asInt()).isEqualTo(7);
    assertThat(line.get("max_waiting").asInt()).isEqualTo(3);
  }

  @Test
  void allOfARequestOrNothing() {
    Answer wrong = admin("PATCH", "{\"pids\":64,\"memory_mb\":\"much\"}");
    assertThat(wrong.field()).isEqualTo("memory_mb");
    wrong = admin("PATCH", "{\"pids\":64,\"max_memory_mb\":100}");
    assertThat(wrong.field()).as("the default would be above the limit").isEqualTo("memory_mb");
    wrong = admin("PATCH", "{\"pids\":64,\"default_image\":\"../etc\"}");
    assertThat(wrong.field()).isEqualTo("default_image");
    wrong = admin("PATCH", "{\"pids\":1}");
    assertThat(wrong.field()).isEqualTo("pids");
    assertThat(admin("GET", "").json().get("changed")).isEmpty();
  }
}
