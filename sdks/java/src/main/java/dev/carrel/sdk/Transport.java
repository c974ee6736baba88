package dev.carrel.sdk;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One server over HTTP: paths, bodies, and errors turned into {@link CarrelException}s. */
final class Transport implements AutoCloseable {
  private static final String KEY = "Idempotency-Key";
  private static final int MAX_ERROR_BODY = 64 * 1024;
  // Of an answer that is none of the server's: enough to know whose it is.
  private static final int SHOWN = 100;
  private static final String STRANGE =
      "something other than the server listens there or stands before it: pass the server's own"
          + " address";

  static final ObjectMapper JSON =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(
                  JsonInclude.Include.NON_NULL, JsonInclude.Include.NON_NULL))
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .addModule(new SimpleModule().addDeserializer(Instant.class, new InstantReader()))
          .build();

  /** RFC 3339 times, so that the client needs no module for java.time. */
  private static final class InstantReader extends JsonDeserializer<Instant> {
    @Override
    public Instant deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      return Instant.parse(parser.getText());
    }
  }

  private final String base;
  private final String authorization;
  private final HttpClient client;

  Transport(URI base, String token) {
    String text = base.toString();
    this.base = text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
    this.authorization = "Bearer " + token;
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(10))
            .build();
  }

  <T> T get(String path, TypeReference<T> type) {
    return read(send(request(path).GET()), type);
  }

  <T> T post(String path, Object body, TypeReference<T> type) {
    return read(
        send(request(path).POST(json(body)).header("Content-Type", "application/json")), type);
  }

  void post(String path, Object body) {
    discard(send(request(path).POST(json(body)).header("Content-Type", "application/json")));
  }

  <T> T put(String path, Object body, TypeReference<T> type) {
    return read(
        send(request(path).PUT(json(body)).header("Content-Type", "application/json")), type);
  }

  <T> T patch(String path, Object body, TypeReference<T> type) {
    return read(
        send(request(path).method("PATCH", json(body)).header("Content-Type", "application/json")),
        type);
  }

  /** As {@link #post(String, Object, TypeReference)}; with a key, also when the answer is lost. */
  <T> T post(String path, Object body, @Nullable String key, TypeReference<T> type) {
    if (key == null) {
      return post(path, body, type);
    }
    var patience = new Patience();
    while (true) {
      try {
        return read(
            send(
                request(path)
                    .POST(json(body))
                    .header("Content-Type", "application/json")
                    .header(KEY, key)),
            type);
      } catch (CarrelException e) {
        patience.afterFailure(e);
      }
    }
  }

  /** Opens a stream of events by GET. */
  ServerEvents events(String path) {
    return events(path, null);
  }

  /**
   * Opens a stream of events by GET.
   *
   * @param seen the id of the last event that came already; null: none
   */
  ServerEvents events(String path, @Nullable Long seen) {
    HttpRequest.Builder request = request(path).header("Accept", "text/event-stream");
    if (seen != null) {
      request.header("Last-Event-ID", Long.toString(seen));
    }
    return new ServerEvents(send(request).body());
  }

  /**
   * Opens a stream of events by POST.
   *
   * @param seen the id of the last event that came of it already; 0: none
   */
  ServerEvents events(String path, Object body, @Nullable String key, long seen) {
    HttpRequest.Builder request =
        request(path)
            .POST(json(body))
            .header("Content-Type", "application/json")
            .header("Accept", "text/event-stream");
    if (key != null) {
      request.header(KEY, key).header("Last-Event-ID", Long.toString(seen));
    }
    return new ServerEvents(send(request).body());
  }

  <T> T delete(String path, TypeReference<T> type) {
    return read(send(request(path).DELETE()), type);
  }

  void delete(String path) {
    discard(send(request(path).DELETE()));
  }

  /** The answer's body is the caller's to close. Statuses from 300 are exceptions. */
  HttpResponse<InputStream> send(HttpRequest.Builder builder) {
    HttpRequest request = builder.build();
    HttpResponse<InputStream> response;
    try {
      response = client.send(request, BodyHandlers.ofInputStream());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw CarrelException.unreachable("interrupted while waiting for " + base, e);
    } catch (IOException e) {
      throw isOtherProtocol(e)
          ? stranger(e)
          : CarrelException.unreachable("no answer from " + base + ": " + reason(e), e);
    }
    if (response.statusCode() >= 400) {
      throw failure(response);
    }
    if (response.statusCode() >= 300) {
      // Not followed, since the token is not for elsewhere; so nothing was done.
      throw elsewhere(response);
    }
    return response;
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(base + path)).header("Authorization", authorization);
  }

  static HttpRequest.BodyPublisher json(Object body) {
    try {
      return BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not expressible as JSON: " + body, e);
    }
  }

  /** A file's path with each segment made safe; slashes stay. */
  static String encodePath(String path) {
    return Arrays.stream(path.split("/", -1))
        .map(Transport::encode)
        .collect(Collectors.joining("/"));
  }

  static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  static String query(Map<String, String> parameters) {
    return parameters.isEmpty()
        ? ""
        : parameters.entrySet().stream()
            .map(p -> encode(p.getKey()) + "=" + encode(p.getValue()))
            .collect(Collectors.joining("&", "?", ""));
  }

  <T> T read(HttpResponse<InputStream> response, TypeReference<T> type) {
    byte[] whole;
    try (InputStream body = response.body()) {
      // First all of it: what has broken off is told apart from what is not the server's.
      whole = body.readAllBytes();
    } catch (IOException e) {
      throw CarrelException.unreachable("the answer of " + base + " broke off: " + reason(e), e);
    }
    try {
      return JSON.readValue(whole, type);
    } catch (IOException e) {
      throw stranger(response, whole, e);
    }
  }

  /** Reads to the end, so that the connection can serve the next call. */
  void discard(HttpResponse<InputStream> response) {
    try (InputStream body = response.body()) {
      body.transferTo(OutputStream.nullOutputStream());
    } catch (IOException e) {
      throw CarrelException.unreachable("the answer of " + base + " broke off: " + reason(e), e);
    }
  }

  private static CarrelException failure(HttpResponse<InputStream> response) {
    int status = response.statusCode();
    byte[] body;
    try (InputStream in = response.body()) {
      body = in.readNBytes(MAX_ERROR_BODY);
    } catch (IOException e) {
      body = new byte[0];
    }
    return failure(status, parseProblem(body));
  }

  static CarrelException failure(int status, JsonNode problem) {
    String code = problem.path("code").asText("");
    String detail =
        problem.path("detail").asText(problem.path("title").asText("HTTP status " + status));
    return new CarrelException(
        ErrorCode.parse(code),
        problem.path("status").asInt(status),
        detail,
        text(problem, "hint"),
        text(problem, "field"),
        null);
  }

  private static JsonNode parseProblem(byte[] body) {
    try {
      JsonNode node = JSON.readTree(body);
      return node == null ? JSON.createObjectNode() : node;
    } catch (IOException notJson) {
      return JSON.createObjectNode();
    }
  }

  private static @Nullable String text(JsonNode node, String name) {
    return node.path(name).isTextual() ? node.path(name).asText() : null;
  }

  private CarrelException elsewhere(HttpResponse<InputStream> response) {
    try {
      response.body().close();
    } catch (IOException e) {
      // What else it says is not looked at anyway.
    }
    return new CarrelException(
        ErrorCode.UNKNOWN,
        response.statusCode(),
        "%s answers with a redirect to %s"
            .formatted(base, response.headers().firstValue("Location").orElse("nowhere")),
        STRANGE,
        null,
        null);
  }

  /** Asking again is no use here either. */
  private CarrelException stranger(HttpResponse<?> response, byte[] body, IOException e) {
    String type = response.headers().firstValue("Content-Type").orElse("something");
    String text = new String(body, StandardCharsets.UTF_8);
    return new CarrelException(
        ErrorCode.UNKNOWN,
        response.statusCode(),
        "%s answers with status %d and %s that is not of a Carrel server: %s"
            .formatted(
                base,
                response.statusCode(),
                type,
                TextNode.valueOf(text.substring(0, Math.min(text.length(), SHOWN)))),
        STRANGE,
        null,
        e);
  }

  /** Asking again is no use there, so it is not unreachable. */
  private CarrelException stranger(IOException e) {
    return new CarrelException(
        ErrorCode.UNKNOWN,
        0,
        base + " does not speak HTTP/1.1",
        "set CARREL_URL, or pass, the address that `carrel serve` says it listens on: gRPC has a"
            + " port of its own, and a server with TLS needs https://",
        null,
        e);
  }

  // What comes in place of HTTP/1.1 is in the message, byte for byte.
  private static boolean isOtherProtocol(IOException e) {
    String message = String.valueOf(e.getMessage());
    return message.startsWith("Invalid status line")
        || message.chars().anyMatch(Character::isISOControl);
  }

  private static String reason(IOException e) {
    if (e.getMessage() != null) {
      return e.getMessage();
    }
    return e instanceof ConnectException ? "nothing listens there" : e.getClass().getSimpleName();
  }

  @Override
  public void close() {
    client.shutdownNow();
    client.close();
  }
}
