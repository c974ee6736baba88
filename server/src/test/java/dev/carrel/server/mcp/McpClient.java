package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** A client of both eras, which says what it got, word for word. */
public final class McpClient {
  public static final ObjectMapper JSON = new ObjectMapper();

  private final LiveServer server;
  private final String path;
  private final String token;
  private final AtomicInteger ids = new AtomicInteger();
  private String session = "";

  public McpClient(LiveServer server) {
    this(server, "/mcp");
  }

  public McpClient(LiveServer server, String path) {
    this(server, path, LiveServer.ADA);
  }

  public McpClient(LiveServer server, String path, String token) {
    this.server = server;
    this.path = path;
    this.token = token;
  }

  /** The messages of an answer, the last of which is the answer itself. */
  public record Answer(int status, List<JsonNode> messages, Map<String, List<String>> headers) {
    public JsonNode last() {
      return messages.getLast();
    }

    public JsonNode result() {
      assertThat(last().has("result")).as(last().toString()).isTrue();
      return last().get("result");
    }

    public int error() {
      return last().at("/error/code").asInt();
    }
  }

  /** Begins a session, which all further legacy requests belong to. */
  public JsonNode initialize(String capabilities) {
    return initialize("2025-11-25", capabilities);
  }

  public JsonNode initialize(String version, String capabilities) {
    Answer answer =
        legacy(
            "initialize",
            "{\"protocolVersion\":\"%s\",\"capabilities\":".formatted(version)
                + capabilities
                + ",\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}");
    session = answer.headers().getOrDefault("mcp-session-id", List.of("")).getFirst();
    return answer.result();
  }

  public String session() {
    return session;
  }

  public Answer legacy(String method, String params) {
    return send(legacyRequest(message(ids.incrementAndGet(), method, params)));
  }

  public HttpRequest legacyRequest(String body) {
    HttpRequest.Builder request = post(body);
    if (!session.isEmpty()) {
      request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25");
    }
    return request.build();
  }

  public HttpRequest.Builder post(String body) {
    return server
        .request("POST", path, BodyPublishers.ofString(body))
        .setHeader("Authorization", "Bearer " + token)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream");
  }

  public static String message(int id, String method, String params) {
    return "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}"
        .formatted(id, method, params);
  }

  /** A request of the era without sessions. */
  public Answer modern(String method, String params) {
    return send(modernRequest(ids.incrementAndGet(), method, params, "{\"elicitation\":{}}"));
  }

  public HttpRequest modernRequest(int id, String method, String params, String capabilities) {
    ObjectNode node = Fixtures.json(params);
    ObjectNode meta = node.withObject("/_meta");
    meta.put("io.modelcontextprotocol/protocolVersion", "2026-07-28");
    meta.set("io.modelcontextprotocol/clientCapabilities", Fixtures.json(capabilities));
    HttpRequest.Builder request =
        post(message(id, method, node.toString()))
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method);
    JsonNode name = node.has("name") ? node.get("name") : node.path("uri");
    if (name.isTextual()) {
      request.header("Mcp-Name", name.asText());
    }
    return request.build();
  }

  /** What a tool gave. */
  public JsonNode call(String tool, String arguments) {
    return modern("tools/call", "{\"name\":\"%s\",\"arguments\":%s}".formatted(tool, arguments))
        .result();
  }

  /** The first text of what a tool gave, which must not be an error. */
  public String text(String tool, String arguments) {
    JsonNode result = call(tool, arguments);
    assertThat(result.path("isError").asBoolean()).as(result.toString()).isFalse();
    return result.at("/content/0/text").asText();
  }

  /** The first text of what a tool gave, which must be an error. */
  public String error(String tool, String arguments) {
    JsonNode result = call(tool, arguments);
    assertThat(result.path("isError").asBoolean()).as(result.toString()).isTrue();
    return result.at("/content/0/text").asText();
  }

  public Answer send(HttpRequest request) {
    HttpResponse<InputStream> response = server.stream(request);
    String type = response.headers().firstValue("Content-Type").orElse("");
    try (InputStream body = response.body()) {
      var messages = new ArrayList<JsonNode>();
      if (type.startsWith("text/event-stream")) {
        try (var events = new EventReader(body)) {
          events.rest().stream()
              .map(LiveServer.Event::data)
              .filter(JsonNode::isObject)
              .forEach(messages::add);
        }
      } else {
        String text = new String(body.readAllBytes(), StandardCharsets.UTF_8);
        messages.add(text.isEmpty() ? JSON.missingNode() : JSON.readTree(text));
      }
      return new Answer(response.statusCode(), messages, response.headers().map());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static String quoted(String text) {
    return JSON.valueToTree(text).toString();
  }
}
