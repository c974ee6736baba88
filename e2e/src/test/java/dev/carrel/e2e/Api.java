package dev.carrel.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The REST API as any client sees it. */
public final class Api implements AutoCloseable {
  public static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient client = HttpClient.newHttpClient();
  private final URI base;
  private final String token;

  public Api(URI base, String token) {
    this.base = base;
    this.token = token;
  }

  public Answer call(String method, String path, String body) {
    return bytes(method, path, body.getBytes(StandardCharsets.UTF_8));
  }

  public Answer bytes(String method, String path, byte[] body) {
    return send(
        request(path)
            .header(
                "Content-Type",
                method.equals("PUT") ? "application/octet-stream" : "application/json")
            .timeout(Duration.ofSeconds(90))
            .method(method, BodyPublishers.ofByteArray(body))
            .build());
  }

  /** Asks for work that tells how it goes on, and waits for its last event. */
  public Answer events(String path, String body) {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .header("Accept", "text/event-stream")
            .timeout(Duration.ofMinutes(25))
            .POST(BodyPublishers.ofString(body))
            .build());
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(base.resolve(path)).header("Authorization", "Bearer " + token);
  }

  private Answer send(HttpRequest request) {
    try {
      HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
      return new Answer(response.statusCode(), response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(request.method() + " " + request.uri().getPath(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  public Answer get(String path) {
    return call("GET", path, "");
  }

  public Answer post(String path, JsonNode body) {
    return call("POST", path, body.toString());
  }

  /**
   * A sandbox with the given fields, for example {@code {"memory_mb": 64}}. It has the engine of
   * the run unless they name one: what ran on another must not count for that one.
   */
  public Box create(String fields) {
    Answer answer = call("POST", "/api/v1/sandboxes", fields);
    if (answer.status() != 201) {
      throw new AssertionError("create answered " + answer.status() + " " + answer.text());
    }
    String engine = answer.json().path("engine").asText();
    if (!fields.contains("\"engine\"") && !engine.equals(Carrel.ENGINE)) {
      throw new AssertionError("a sandbox of " + engine + " in a run on " + Carrel.ENGINE);
    }
    return new Box(this, answer.json().get("id").asText(), answer.json());
  }

  public static ObjectNode object() {
    return JSON.createObjectNode();
  }

  @Override
  public void close() {
    client.close();
  }

  /** Status and body. */
  public static final class Answer {
    private final int status;
    private final byte[] body;

    private Answer(int status, byte[] body) {
      this.status = status;
      this.body = body;
    }

    public int status() {
      return status;
    }

    public byte[] body() {
      return body;
    }

    public String text() {
      return new String(body, StandardCharsets.UTF_8);
    }

    public JsonNode json() {
      try {
        return JSON.readTree(body);
      } catch (IOException e) {
        throw new UncheckedIOException(text(), e);
      }
    }
  }
}
