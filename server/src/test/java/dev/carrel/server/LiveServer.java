package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.control.Control;
import dev.carrel.control.ControlSettings;
import dev.carrel.server.auth.TokenFile;
import dev.carrel.server.grpc.GrpcSettings;
import dev.carrel.server.mcp.Catalog;
import dev.carrel.server.tools.Toolsets;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A server on a real port over the engine without isolation, and a client of it. Every JSON answer
 * that the client gets is held against the API's description.
 */
public final class LiveServer implements AutoCloseable {
  public static final String ADMIN = "admin-token-0123456789";
  public static final String ADA = "ada-token-0123456789ab";
  public static final String BOB = "bob-token-0123456789ab";

  /** Of an agent in the tenant of Ada that may use the host. */
  public static final String AGENT = "agent-token-0123456789";

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Path directory;
  private final Control control;
  private final CarrelServer server;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(30))
          .build();
  private final ApiDescription description = ApiDescription.load();

  private LiveServer(Path directory, Control control, CarrelServer server) {
    this.directory = directory;
    this.control = control;
    this.server = server;
  }

  public static LiveServer start() {
    return start(settings());
  }

  public static ServerSettings settings() {
    return ServerSettings.defaults().withAddress("127.0.0.1", 0);
  }

  public static LiveServer start(ServerSettings settings) {
    return start(settings, defaults -> defaults);
  }

  /** Changes the settings of control before it is opened. */
  public interface Tuning {
    ControlSettings tune(ControlSettings defaults);
  }

  public static LiveServer start(ServerSettings settings, Tuning tuning) {
    return start(settings, tuning, Toolsets::catalog);
  }

  /** One that offers something of its own over MCP. */
  public static LiveServer offering(Catalog catalog) {
    return start(settings(), defaults -> defaults, control -> catalog);
  }

  private static LiveServer start(
      ServerSettings settings, Tuning tuning, Function<Control, Catalog> offer) {
    try {
      Path directory = Files.createTempDirectory("carrel-server");
      Path lib = Path.of(System.getProperty("carrel.lib"));
      Path tokens = directory.resolve("tokens");
      Files.writeString(
          tokens,
          ADMIN
              + "\n"
              + ADA
              + " acme ada\n"
              + BOB
              + " bolt bob user\n"
              + AGENT
              + " acme agent user host\n");
      Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
      var engine =
          ServiceLoader.load(EngineProvider.class).stream()
              .map(ServiceLoader.Provider::get)
              .filter(provider -> provider.name().equals("process"))
              .findFirst()
              .orElseThrow()
              .create(
                  new EngineSettings(
                      directory.resolve("run"), directory.resolve("volumes"), lib, Set.of()));
      ControlSettings defaults = ControlSettings.defaults(directory.resolve("data"), lib);
      var processOnly =
          defaults.withSandboxes(defaults.sandboxes().withEngines("process", Set.of("process")));
      Control control = Control.open(tuning.tune(processOnly), List.of(engine), List.of());
      var server =
          CarrelServer.start(
              settings,
              GrpcSettings.defaults().withAddress("127.0.0.1", 0),
              control,
              TokenFile.openOrCreate(tokens),
              offer.apply(control));
      return new LiveServer(directory, control, server);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public Control control() {
    return control;
  }

  /** From now on no sandbox starts, and that is the engine's failure. */
  public void breakEngine() {
    try {
      Files.writeString(directory.resolve("run"), "no folder");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public int port() {
    return server.port();
  }

  public CarrelServer server() {
    return server;
  }

  public URI uri(String path) {
    return URI.create(server.uri() + path);
  }

  public HttpRequest.Builder request(String method, String path, BodyPublisher body) {
    return HttpRequest.newBuilder(uri(path))
        .method(method, body)
        .timeout(Duration.ofSeconds(60))
        .header("Authorization", "Bearer " + ADA);
  }

  public Answer send(HttpRequest request) {
    try {
      HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
      var answer = new Answer(response);
      description.check(request.method(), request.uri().getRawPath(), answer);
      return answer;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  public HttpResponse<InputStream> stream(HttpRequest request) {
    try {
      return client.send(request, BodyHandlers.ofInputStream());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  public Answer get(String path) {
    return send(request("GET", path, BodyPublishers.noBody()).build());
  }

  public Answer delete(String path) {
    return send(request("DELETE", path, BodyPublishers.noBody()).build());
  }

  public Answer post(String path, String json) {
    return send(request("POST", path, BodyPublishers.ofString(json)).build());
  }

  public Answer post(String path) {
    return send(request("POST", path, BodyPublishers.noBody()).build());
  }

  public Answer patch(String path, String json) {
    return send(request("PATCH", path, BodyPublishers.ofString(json)).build());
  }

  public Answer put(String path, byte[] body) {
    return send(request("PUT", path, BodyPublishers.ofByteArray(body)).build());
  }

  /** The server-sent events of a request, read to their end. */
  public List<Event> events(HttpRequest request) {
    try (var reader = new EventReader(stream(request).body())) {
      return reader.rest();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public HttpRequest live(String path, String json) {
    return request("POST", path, BodyPublishers.ofString(json))
        .header("Accept", "text/event-stream")
        .build();
  }

  public ApiDescription description() {
    return description;
  }

  /** A new sandbox's path. */
  public String sandbox() {
    return "/api/v1/sandboxes/" + sandboxId();
  }

  public String sandboxId() {
    Answer answer = post("/api/v1/sandboxes", "{}");
    assertThat(answer.status()).as(answer.text()).isEqualTo(201);
    return answer.json().get("id").asText();
  }

  @Override
  public void close() {
    server.stop();
    // Else they would outlive it, as those of a real server do.
    control.sandboxes().stopAll();
    control.close();
    Eventually.until("its folder is gone", this::removed);
  }

  private boolean removed() {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
      return true;
    } catch (IOException | UncheckedIOException e) {
      // A volume that was made ahead may just be taken back by who made it.
      return false;
    }
  }

  /** What came back. */
  public record Answer(HttpResponse<byte[]> response) {
    public int status() {
      return response.statusCode();
    }

    public String header(String name) {
      return response.headers().firstValue(name).orElse("");
    }

    public byte[] bytes() {
      return response.body();
    }

    public String text() {
      return new String(response.body(), StandardCharsets.UTF_8);
    }

    public JsonNode json() {
      try {
        return MAPPER.readTree(response.body());
      } catch (IOException e) {
        throw new UncheckedIOException(text(), e);
      }
    }

    public String code() {
      return json().path("code").asText();
    }

    public String field() {
      return json().path("field").asText();
    }
  }

  /** One server-sent event. */
  public record Event(String name, String id, JsonNode data) {}
}
