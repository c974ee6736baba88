package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What is declared is sent: changes of lists and of resources, in both eras, to nobody else. */
@ExtendWith(SharedServer.class)
class ResourceNewsTest {
  private static final String LIST_CHANGED = "notifications/resources/list_changed";
  private static final String UPDATED = "notifications/resources/updated";

  private final LiveServer server;

  ResourceNewsTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void onlyWhatIsSentIsDeclared() {
    JsonNode capabilities =
        new McpClient(server).modern("server/discover", "{}").result().get("capabilities");
    assertThat(capabilities.at("/resources/listChanged").asBoolean()).isTrue();
    assertThat(capabilities.at("/resources/subscribe").asBoolean()).isTrue();
    assertThat(capabilities.path("tools").isObject()).isTrue();
    assertThat(capabilities.path("tools").has("listChanged")).isFalse();
    assertThat(capabilities.path("prompts").has("listChanged")).isFalse();
  }

  @Test
  void aSessionHearsOfItsSubscriptions() throws Exception {
    String id = server.sandboxId();
    String files = "/api/v1/sandboxes/" + id + "/files/";
    server.put(files + "seen", bytes("1"));
    var mcp = new McpClient(server);
    mcp.initialize("{}");
    subscribe(mcp, "carrel://sandboxes/" + id + "/files/workspace/seen");
    subscribe(mcp, "carrel://sandboxes/" + id + "/policy");
    subscribe(mcp, "skill://news-legacy/SKILL.md");
    try (EventReader events = new EventReader(server.stream(listening(mcp)).body())) {
      server.put(files + "other", bytes("1"));
      server.put(files + "seen", bytes("2"));
      assertThat(next(events, UPDATED).at("/params/uri").asText())
          .endsWith("/files/workspace/seen");

      server.patch("/api/v1/sandboxes/" + id, "{\"network\":{\"allow\":[\"example.com\"]}}");
      assertThat(nextOf(events, "/policy")).endsWith(id + "/policy");

      upload(LiveServer.ADA, "news-legacy");
      next(events, LIST_CHANGED);
      assertThat(nextOf(events, "SKILL.md")).isEqualTo("skill://news-legacy/SKILL.md");
      server.delete("/api/v1/skills/news-legacy");
    }
  }

  @Test
  void aListenerWithoutASessionHearsTheSame() throws Exception {
    var mcp = new McpClient(server);
    HttpRequest listen =
        mcp.modernRequest(
            7,
            "subscriptions/listen",
            "{\"notifications\":{\"resourcesListChanged\":true,\"toolsListChanged\":true,"
                + "\"resourceSubscriptions\":[\"skill://news-modern/data\"]}}",
            "{}");
    try (EventReader events = new EventReader(server.stream(listen).body())) {
      JsonNode agreed = next(events, "notifications/subscriptions/acknowledged");
      assertThat(agreed.at("/params/notifications/resourcesListChanged").asBoolean()).isTrue();
      assertThat(agreed.at("/params/notifications").has("toolsListChanged")).isFalse();

      upload(LiveServer.BOB, "news-foreign");
      upload(LiveServer.ADA, "news-modern");
      JsonNode first = next(events, LIST_CHANGED);
      assertThat(first.at("/params/_meta").toString()).contains("subscriptionId");
      assertThat(nextOf(events, "news-modern")).isEqualTo("skill://news-modern/data");
      server.delete("/api/v1/skills/news-modern");
    }
  }

  @Test
  void anotherTenantHearsNothing() throws Exception {
    var mcp = new McpClient(server, "/mcp", LiveServer.BOB);
    HttpRequest listen =
        mcp.modernRequest(
            8,
            "subscriptions/listen",
            "{\"notifications\":{\"resourceSubscriptions\":"
                + "[\"skill://news-theirs/SKILL.md\",\"skill://news-own/SKILL.md\"]}}",
            "{}");
    try (EventReader events = new EventReader(server.stream(listen).body())) {
      next(events, "notifications/subscriptions/acknowledged");
      upload(LiveServer.ADA, "news-theirs");
      upload(LiveServer.BOB, "news-own");
      // The order of events is that of the uploads: what comes first would be the other one.
      assertThat(nextOf(events, "skill://")).isEqualTo("skill://news-own/SKILL.md");
      server.delete("/api/v1/skills/news-theirs");
    }
  }

  @Test
  void aFileOfAnotherTenantCannotBeWatched() {
    String id = server.sandboxId();
    server.put("/api/v1/sandboxes/" + id + "/files/secret", bytes("1"));
    var bob = new McpClient(server, "/mcp", LiveServer.BOB);
    bob.initialize("{}");
    String uri = "carrel://sandboxes/" + id + "/files/workspace/secret";
    assertThat(bob.legacy("resources/subscribe", "{\"uri\":\"" + uri + "\"}").error())
        .isEqualTo(-32602);
  }

  private static void subscribe(McpClient mcp, String uri) {
    mcp.legacy("resources/subscribe", "{\"uri\":\"" + uri + "\"}").result();
  }

  private HttpRequest listening(McpClient mcp) {
    return server
        .request("GET", "/mcp", BodyPublishers.noBody())
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", mcp.session())
        .header("MCP-Protocol-Version", "2025-11-25")
        .build();
  }

  private static JsonNode next(EventReader events, String method) throws IOException {
    while (true) {
      LiveServer.Event event = events.next();
      if (event == null) {
        throw new AssertionError("the stream ended before " + method);
      }
      JsonNode message = event.data();
      if (message.path("method").asText().equals(method)) {
        return message;
      }
    }
  }

  /** The next address told of that has this in it. */
  private static String nextOf(EventReader events, String part) throws IOException {
    while (true) {
      String uri = next(events, UPDATED).at("/params/uri").asText();
      if (uri.contains(part)) {
        return uri;
      }
    }
  }

  private void upload(String token, String name) {
    String text = "---\nname: " + name + "\ndescription: Tells of itself.\n---\n";
    var answer =
        server.send(
            server
                .request(
                    "POST",
                    "/api/v1/skills/upload?filename=a.md",
                    BodyPublishers.ofByteArray(bytes(text)))
                .setHeader("Authorization", "Bearer " + token)
                .header("Content-Type", "application/octet-stream")
                .build());
    assertThat(answer.status()).as(answer.text()).isIn(200, 201);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
