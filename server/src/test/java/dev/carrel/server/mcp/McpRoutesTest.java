package dev.carrel.server.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.RawClient;
import dev.carrel.server.SharedServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class McpRoutesTest {
  private final LiveServer server;
  private final McpClient mcp;

  McpRoutesTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  @Test
  void withoutATokenThereIsNoAnswer() {
    HttpRequest request =
        HttpRequest.newBuilder(server.uri("/mcp"))
            .POST(BodyPublishers.ofString(McpClient.message(1, "server/discover", "{}")))
            .build();
    assertThat(server.send(request).status()).isEqualTo(401);
  }

  @Test
  void aForeignPageGetsNoAnswer() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(
          "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nAuthorization:"
              + " Bearer "
              + LiveServer.ADA
              + "\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
      assertThat(client.readHead()).startsWith("HTTP/1.1 403");
    }
  }

  @Test
  void aSessionIsBegunUsedAndEnded() {
    JsonNode begun = mcp.initialize("{}");
    assertThat(begun.get("protocolVersion").asText()).isEqualTo("2025-11-25");
    assertThat(begun.at("/serverInfo/name").asText()).isEqualTo("carrel");
    assertThat(mcp.legacy("ping", "{}").result().isEmpty()).isTrue();
    assertThat(mcp.legacy("tools/list", "{}").result().get("tools").findValuesAsText("name"))
        .contains("execute_code", "Bash", "Edit");
    assertThat(mcp.send(ofSession("DELETE").build()).status()).isEqualTo(204);
    assertThat(mcp.legacy("ping", "{}").status()).isEqualTo(404);
  }

  @Test
  void aSessionBelongsToWhoBeganIt() {
    mcp.initialize("{}");
    HttpRequest request =
        HttpRequest.newBuilder(server.uri("/mcp"))
            .header("Authorization", "Bearer " + LiveServer.BOB)
            .header("Mcp-Session-Id", mcp.session())
            .POST(BodyPublishers.ofString(McpClient.message(1, "ping", "{}")))
            .build();
    assertThat(mcp.send(request).status()).isEqualTo(404);
  }

  @Test
  void toolsetsAreChosenByTheClient() {
    var some = new McpClient(server, "/mcp?tools=files");
    assertThat(some.modern("tools/list", "{}").result().get("tools").findValuesAsText("name"))
        .contains("Grep")
        .doesNotContain("execute_code");
    var wrong = new McpClient(server, "/mcp?tools=nothing");
    assertThat(wrong.modern("tools/list", "{}").error()).isEqualTo(-32602);
  }

  @Test
  void everyToolSaysWhatItDoesToTheWorld() {
    for (JsonNode tool : mcp.modern("tools/list", "{}").result().get("tools")) {
      assertThat(tool.at("/annotations/readOnlyHint").isBoolean()).as(tool.toString()).isTrue();
      assertThat(tool.at("/inputSchema/type").asText()).isEqualTo("object");
      assertThat(tool.get("description").asText()).isNotBlank();
    }
  }

  @Test
  void whatAProgramWritesIsSeenWhileItRuns() {
    McpClient.Answer answer =
        mcp.modern(
            "tools/call",
            "{\"name\":\"execute_code\",\"arguments\":{\"code\":\"print('now', flush=True)\"},"
                + "\"_meta\":{\"progressToken\":\"p\"}}");
    assertThat(answer.messages().getFirst().at("/method").asText())
        .isEqualTo("notifications/progress");
    assertThat(answer.messages().getFirst().at("/params/message").asText()).isEqualTo("now\n");
    assertThat(answer.result().at("/structuredContent/stdout").asText()).isEqualTo("now\n");
  }

  @Test
  void leavingWithoutASessionKillsWhatRuns() throws IOException {
    String sandbox = server.sandboxId();
    HttpRequest request =
        mcp.modernRequest(
            7, "tools/call", endless(sandbox, "\"_meta\":{\"progressToken\":1}"), "{}");
    HttpResponse<InputStream> response = server.stream(request);
    try (var events = new EventReader(response.body())) {
      assertThat(events.next("message").data().at("/params/message").asText()).isEqualTo("up\n");
    }
    untilNothingRuns(sandbox);
  }

  @Test
  void cancellingInASessionKillsWhatRuns() throws IOException {
    String sandbox = server.sandboxId();
    mcp.initialize("{}");
    HttpRequest request =
        mcp.legacyRequest(
            McpClient.message(
                99, "tools/call", endless(sandbox, "\"_meta\":{\"progressToken\":1}")));
    try (var events = new EventReader(server.stream(request).body())) {
      assertThat(events.next("message").data().at("/params/message").asText()).isEqualTo("up\n");
      mcp.send(
          mcp.legacyRequest(
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}"));
      assertThat(events.rest()).allMatch(event -> !event.data().has("result"));
    }
    untilNothingRuns(sandbox);
  }

  @Test
  void aBrokenStreamOfASessionIsResumedWhereItBroke() throws IOException {
    String sandbox = server.sandboxId();
    mcp.initialize("{}");
    String command =
        "{\"name\":\"Bash\",\"arguments\":{\"session_id\":\"%s\",\"command\":\"echo up; until [ -e go ]; do sleep 0.05; done; echo down\"},\"_meta\":{\"progressToken\":1}}"
            .formatted(sandbox);
    String seen;
    try (var events =
        new EventReader(
            server.stream(mcp.legacyRequest(McpClient.message(5, "tools/call", command))).body())) {
      seen = events.next("message").id();
    }
    new McpClient(server)
        .text(
            "Write",
            "{\"session_id\":\"%s\",\"file_path\":\"go\",\"content\":\"\"}".formatted(sandbox));
    HttpRequest again = ofSession("GET").header("Last-Event-ID", seen).build();
    McpClient.Answer rest = mcp.send(again);
    assertThat(rest.messages().getFirst().at("/params/message").asText()).isEqualTo("down\n");
    assertThat(rest.result().at("/content/0/text").asText()).isEqualTo("up\ndown\n");
    assertThat(rest.last().get("id").asInt()).isEqualTo(5);
  }

  @Test
  void whoSpeaksForAnOlderClientCanResumeWhatBrokeBeforeTheFirstMessage() throws IOException {
    String sandbox = server.sandboxId();
    mcp.initialize("2025-06-18", "{}");
    String command =
        "{\"name\":\"Bash\",\"arguments\":{\"session_id\":\"%s\",\"command\":\"until [ -e go ]; do sleep 0.05; done; echo down\"}}"
            .formatted(sandbox);
    String begun;
    HttpRequest call = mcp.legacyRequest(McpClient.message(5, "tools/call", command));
    try (var events = new EventReader(server.stream(call).body())) {
      LiveServer.Event first = Objects.requireNonNull(events.next());
      assertThat(first.data().isMissingNode()).isTrue();
      begun = first.id();
    }
    new McpClient(server)
        .text(
            "Write",
            "{\"session_id\":\"%s\",\"file_path\":\"go\",\"content\":\"\"}".formatted(sandbox));
    McpClient.Answer rest = mcp.send(ofSession("GET").header("Last-Event-ID", begun).build());
    assertThat(rest.result().at("/content/0/text").asText()).isEqualTo("down\n");
  }

  @Test
  void whoComesBackToListenTakesThePlaceOfTheConnectionThatWasLost() throws IOException {
    mcp.initialize("{}");
    try (var lost = new EventReader(server.stream(ofSession("GET").build()).body())) {
      String seen = Objects.requireNonNull(lost.next()).id();
      assertThat(mcp.send(ofSession("GET").build()).status()).as("another one").isEqualTo(409);
      HttpRequest again = ofSession("GET").header("Last-Event-ID", seen).build();
      HttpResponse<InputStream> response = server.stream(again);
      assertThat(response.statusCode()).isEqualTo(200);
      try (var _ = new EventReader(response.body())) {
        assertThat(lost.rest()).isEmpty();
        assertThat(mcp.send(ofSession("GET").build()).status()).as("another one").isEqualTo(409);
      }
    }
  }

  @Test
  void anAnswerThatIsTooLargeToKeepIsNotKept() throws IOException {
    String seen = streamed(mcp, 5_000_000);
    Eventually.until("the stream is forgotten", () -> !isKept(mcp, seen));
  }

  @Test
  void manySessionsOfATenantKeepNoMoreTogether() throws IOException {
    var streams = new LinkedHashMap<McpClient, String>();
    for (int i = 0; i < 10; i++) {
      var client = new McpClient(server);
      streams.put(client, streamed(client, 1_900_000));
    }
    Eventually.until("some are forgotten", () -> kept(streams) < streams.size());
    assertThat(kept(streams)).isPositive();
  }

  private long kept(Map<McpClient, String> streams) {
    return streams.entrySet().stream().filter(e -> isKept(e.getKey(), e.getValue())).count();
  }

  @Test
  void capabilitiesThatAreTooLongToKeepAreRefused() {
    String capabilities = "{\"experimental\":{\"x\":\"" + "x".repeat(100_000) + "\"}}";
    String params = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":" + capabilities + "}";
    assertThat(mcp.legacy("initialize", params).error()).isEqualTo(Protocol.INVALID_PARAMS);
  }

  /** Runs code whose result is so long in a session; where the stream of its answer began. */
  private String streamed(McpClient client, int length) throws IOException {
    client.initialize("{}");
    String code =
        "print('up', flush=True)\\nclass L:\\n def _repr_html_(s): return 'x' * %d\\nL()"
            .formatted(length);
    String call =
        "{\"name\":\"execute_code\",\"arguments\":{\"code\":\"%s\"},\"_meta\":{\"progressToken\":1}}"
            .formatted(code);
    HttpRequest request = client.legacyRequest(McpClient.message(6, "tools/call", call));
    try (var events = new EventReader(server.stream(request).body())) {
      String first = events.next("message").id();
      assertThat(events.rest().getLast().data().has("result")).isTrue();
      return first;
    }
  }

  private boolean isKept(McpClient client, String seen) {
    HttpRequest again =
        server
            .request("GET", "/mcp", BodyPublishers.noBody())
            .header("Mcp-Session-Id", client.session())
            .header("Last-Event-ID", seen)
            .build();
    return client.send(again).status() == 200;
  }

  @Test
  void aCursorThatIsNoneOfOursIsRefused() {
    for (String offset : new String[] {"-1", "4294967295", "99999999999", "x", "1000000"}) {
      String cursor =
          Base64.getUrlEncoder()
              .withoutPadding()
              .encodeToString(("from:" + offset).getBytes(StandardCharsets.US_ASCII));
      assertThat(mcp.modern("tools/list", "{\"cursor\":\"" + cursor + "\"}").error())
          .as(offset)
          .isEqualTo(Protocol.INVALID_PARAMS);
    }
  }

  @Test
  void aSandboxIsReadAsAResource() {
    String sandbox = server.sandboxId();
    mcp.text(
        "Write",
        "{\"session_id\":\"%s\",\"file_path\":\"a b.txt\",\"content\":\"hello\"}"
            .formatted(sandbox));
    String root = "carrel://sandboxes/" + sandbox;
    assertThat(read(root + "/files/workspace/a%20b.txt")).isEqualTo("hello");
    assertThat(read(root + "/files/workspace")).contains(root + "/files/workspace/a%20b.txt");
    assertThat(read(root + "/state")).contains("\"status\" : \"running\"");
    assertThat(read(root + "/policy")).contains("\"allow\" : [ ]");
    assertThat(mcp.modern("resources/read", "{\"uri\":\"carrel://sandboxes/x/state\"}").error())
        .isEqualTo(-32602);
    JsonNode completed =
        mcp.modern(
                "completion/complete",
                "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"carrel://sandboxes/{id}/state\"},"
                    + "\"argument\":{\"name\":\"id\",\"value\":\"%s\"}}"
                        .formatted(sandbox.substring(0, 8)))
            .result();
    assertThat(completed.at("/completion/values/0").asText()).isEqualTo(sandbox);
  }

  @Test
  void nonsenseIsAnsweredWithErrors() {
    for (String body :
        List.of(
            "",
            "{",
            "[]",
            "null",
            "42",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":\"" + "x".repeat(300) + "\",\"method\":\"ping\"}",
            "{\"a\":".repeat(5000) + "1" + "}".repeat(5000))) {
      McpClient.Answer answer = mcp.send(mcp.post(body).build());
      assertThat(answer.status()).as(body.substring(0, Math.min(80, body.length()))).isEqualTo(400);
      assertThat(answer.error()).isIn(-32700, -32600);
    }
  }

  @Test
  void aBodyThatIsTooLargeIsToldSoInTheProtocol() {
    String body = McpClient.message(1, "ping", "{\"x\":\"" + "x".repeat(1 << 20) + "\"}");
    McpClient.Answer known = mcp.send(mcp.post(body).build());
    // In chunks its size shows only while it is read.
    var pieces = BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body.getBytes(UTF_8)));
    McpClient.Answer chunked = mcp.send(mcp.post("").POST(pieces).build());
    for (McpClient.Answer answer : List.of(known, chunked)) {
      assertThat(answer.status()).isEqualTo(413);
      assertThat(answer.error()).isEqualTo(-32600);
      assertThat(answer.last().get("id").isNull()).isTrue();
      assertThat(answer.last().at("/error/message").asText())
          .isEqualTo("body is over the limit of 1048576 bytes");
    }
  }

  @Test
  void randomChangesOfAGoodRequestBreakNothing() {
    byte[] good =
        McpClient.message(1, "tools/call", "{\"name\":\"execute_code\",\"arguments\":{\"code\":1}}")
            .getBytes(java.nio.charset.StandardCharsets.UTF_8);
    mcp.initialize("{}");
    var random = new Random(20260728);
    for (int i = 0; i < 500; i++) {
      byte[] bad = good.clone();
      for (int j = random.nextInt(4); j >= 0; j--) {
        bad[random.nextInt(bad.length)] = (byte) random.nextInt(256);
      }
      HttpRequest request =
          ofSession("POST", bad).header("Accept", "application/json, text/event-stream").build();
      McpClient.Answer answer = mcp.send(request);
      assertThat(answer.status()).isIn(200, 202, 400);
    }
    assertThat(mcp.legacy("ping", "{}").result().isEmpty()).isTrue();
  }

  private String read(String uri) {
    return mcp.modern("resources/read", "{\"uri\":\"%s\"}".formatted(uri))
        .result()
        .at("/contents/0/text")
        .asText();
  }

  private static String endless(String sandbox, String more) {
    return "{\"name\":\"Bash\",\"arguments\":{\"session_id\":\"%s\",\"command\":\"echo up; sleep 300\"},%s}"
        .formatted(sandbox, more);
  }

  private void untilNothingRuns(String sandbox) {
    Eventually.until(
        "the command is dead",
        () -> {
          JsonNode execs = server.get("/api/v1/sandboxes/" + sandbox + "/execs").json();
          return execs.findValues("running").stream().noneMatch(JsonNode::asBoolean)
              && execs.findValuesAsText("status").stream().noneMatch("running"::equals);
        });
  }

  private HttpRequest.Builder ofSession(String method) {
    return ofSession(method, new byte[0]);
  }

  private HttpRequest.Builder ofSession(String method, byte[] body) {
    return server
        .request(method, "/mcp", BodyPublishers.ofByteArray(body))
        .header("Mcp-Session-Id", mcp.session());
  }
}
