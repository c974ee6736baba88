package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Pulls from registries of this test's own that lead on, lie, or are asked twice at once. */
@Timeout(60)
final class RegistriesTest {
  private static final Platform AMD = new Platform("linux", "amd64", "");

  @TempDir private Path temporary;
  private HttpServer registry;
  private HttpServer storage;
  private final Map<String, byte[]> content = new ConcurrentHashMap<>();
  private final List<String> shownToStorage = new CopyOnWriteArrayList<>();

  @BeforeEach
  void listen() throws IOException {
    registry = server();
    storage = server();
    storage.createContext("/", this::store);
  }

  @AfterEach
  void close() {
    registry.stop(0);
    storage.stop(0);
  }

  @Test
  void loginIsShownToItsRegistryOnly() throws Exception {
    push("tool", new TarBytes().file("a", "1").bytes());
    registry.createContext(
        "/v2/",
        exchange -> {
          String path = exchange.getRequestURI().getPath();
          if (exchange.getRequestHeaders().getFirst("Authorization") == null) {
            exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"x\"");
            answer(exchange, 401, new byte[0]);
          } else if (path.contains("/blobs/")) {
            lead(exchange, "http://" + name(storage) + "/first" + path);
          } else {
            serve(exchange, path);
          }
        });
    Path logins = temporary.resolve("config.json");
    Files.writeString(
        logins, "{\"auths\":{\"%s\":{\"auth\":\"YWRhOnB3\"}}}".formatted(name(registry)));

    Stored stored = images(logins).pull(reference("tool"), AMD, new Listener());

    assertThat(stored.layers()).hasSize(1);
    assertThat(shownToStorage).hasSize(4).containsOnly("nothing");
  }

  @Test
  void pullsThatShareALayerDownloadItOnce() throws Exception {
    byte[] shared = new TarBytes().file("base", "x").bytes();
    push("one", shared, new TarBytes().file("a", "1").bytes());
    push("two", shared, new TarBytes().file("a", "2").bytes());
    String wanted = Digest.of(shared).toString();
    var asked = new CopyOnWriteArrayList<String>();
    var twice = new CountDownLatch(2);
    var second = new CountDownLatch(1);
    registry.createContext(
        "/v2/",
        exchange -> {
          String path = exchange.getRequestURI().getPath();
          if (path.endsWith(wanted)) {
            asked.add(path);
            twice.countDown();
            second.countDown();
            await(twice, 3);
          }
          serve(exchange, path);
        });
    ImageFolder images = images(null);

    try (var pulls = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Stored> one = pulls.submit(() -> images.pull(reference("one"), AMD, new Listener()));
      await(second, 30);
      Future<Stored> two = pulls.submit(() -> images.pull(reference("two"), AMD, new Listener()));

      assertThat(images.root(one.get().root()).resolve("base")).hasContent("x");
      assertThat(images.root(two.get().root()).resolve("base")).hasContent("x");
    }
    assertThat(asked).hasSize(1);
    assertThat(temporary.resolve("images/downloads")).isEmptyDirectory();
  }

  @Test
  void whatIsNoAddressIsSaid() throws Exception {
    push("tool", new TarBytes().file("a", "1").bytes());
    registry.createContext(
        "/v2/tool/manifests/", exchange -> lead(exchange, "https://127.0.0.1:1/a b|c"));
    registry.createContext(
        "/v2/private/",
        exchange -> {
          exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer realm=\"http://a b|c\"");
          answer(exchange, 401, new byte[0]);
        });

    assertFails("tool", ErrorCode.IMAGE_SOURCE_FAILED, "which is no address");
    assertFails("private", ErrorCode.IMAGE_SOURCE_FAILED, "a token from http://a b|c");
  }

  @Test
  void whereRegistriesLeadIsLookedAtBeforeAnythingIsDialled() throws Exception {
    try (var listener = new Doorbell()) {
      registry.createContext("/v2/moved/", exchange -> lead(exchange, listener.place()));
      registry.createContext(
          "/v2/private/",
          exchange -> {
            exchange
                .getResponseHeaders()
                .set("WWW-Authenticate", "Bearer realm=\"%s\"".formatted(listener.place()));
            answer(exchange, 401, new byte[0]);
          });

      for (String repository : List.of("moved", "private")) {
        assertFails(
            repository, ErrorCode.IMAGE_SOURCE_FAILED, "127.0.0.2 is not the registry's own host");
      }
      assertThat(listener.rung()).isZero();

      // Where it may lead, somebody rings.
      ImageFolder open =
          ImageFolder.open(
              temporary.resolve("open"),
              ImageLimits.defaults(),
              null,
              Builders.usual(),
              (_, _) -> Optional.empty());
      for (String repository : List.of("moved", "private")) {
        assertThatIOException()
            .isThrownBy(() -> open.pull(reference(repository), AMD, new Listener()))
            .withMessageContaining("no answer from 127.0.0.2");
      }
      assertThat(listener.rung()).isPositive();
    }
  }

  /** Counts who comes, and speaks with nobody. */
  private static final class Doorbell implements AutoCloseable {
    private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.2"));
    private final AtomicInteger rings = new AtomicInteger();

    Doorbell() throws IOException {
      Thread.ofVirtual().start(this::open);
    }

    String place() {
      return "https://127.0.0.2:" + socket.getLocalPort() + "/x";
    }

    int rung() {
      return rings.get();
    }

    private void open() {
      while (!socket.isClosed()) {
        try (Socket _ = socket.accept()) {
          rings.incrementAndGet();
        } catch (IOException e) {
          assertThat(socket.isClosed()).as(e.toString()).isTrue();
        }
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @Test
  void sizesThatAreTooMuchTogetherAreRefused() throws Exception {
    byte[] layer = new TarBytes().file("a", "1").bytes();
    String half = Long.toString(Long.MAX_VALUE / 2 + 1);
    push("huge", layer, layer);
    String path = "/v2/huge/manifests/latest";
    String manifest = new String(content.get(path), StandardCharsets.UTF_8);
    content.put(
        path,
        manifest
            .replace("\"size\":" + layer.length + "}", "\"size\":" + half + "}")
            .getBytes(StandardCharsets.UTF_8));
    registry.createContext("/v2/", exchange -> serve(exchange, exchange.getRequestURI().getPath()));

    assertFails("huge", ErrorCode.TOO_LARGE, "to download");
  }

  private void assertFails(String repository, ErrorCode code, String why) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images(null).pull(reference(repository), AMD, new Listener()))
        .withMessageContaining(why)
        .matches(e -> e.code() == code, code.name());
  }

  private void push(String repository, byte[]... layers) {
    var described = new StringBuilder();
    var unpacked = new StringBuilder();
    for (byte[] layer : layers) {
      String comma = described.isEmpty() ? "" : ",";
      described.append(comma).append(describe(layer));
      unpacked.append(comma).append('"').append(Digest.of(layer)).append('"');
      blob(repository, layer);
    }
    byte[] config =
        "{\"rootfs\":{\"diff_ids\":[%s]}}".formatted(unpacked).getBytes(StandardCharsets.UTF_8);
    blob(repository, config);
    content.put(
        "/v2/" + repository + "/manifests/latest",
        "{\"config\":%s,\"layers\":[%s]}"
            .formatted(describe(config), described)
            .getBytes(StandardCharsets.UTF_8));
  }

  private void blob(String repository, byte[] bytes) {
    content.put("/v2/" + repository + "/blobs/" + Digest.of(bytes), bytes);
  }

  private static String describe(byte[] bytes) {
    return "{\"digest\":\"%s\",\"size\":%d}".formatted(Digest.of(bytes), bytes.length);
  }

  /** Leads on once more, to itself. */
  private void store(HttpExchange exchange) throws IOException {
    String shown = exchange.getRequestHeaders().getFirst("Authorization");
    shownToStorage.add(shown == null ? "nothing" : shown);
    String path = exchange.getRequestURI().getPath();
    if (path.startsWith("/first")) {
      lead(exchange, path.substring("/first".length()));
    } else {
      serve(exchange, path);
    }
  }

  private void serve(HttpExchange exchange, String path) throws IOException {
    byte[] bytes = content.get(path);
    answer(exchange, bytes == null ? 404 : 200, bytes == null ? new byte[0] : bytes);
  }

  private static void lead(HttpExchange exchange, String place) throws IOException {
    exchange.getResponseHeaders().set("Location", place);
    answer(exchange, 307, new byte[0]);
  }

  private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(body);
    }
  }

  private static void await(CountDownLatch latch, long seconds) {
    try {
      latch.await(seconds, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private ImageFolder images(@Nullable Path logins) {
    return ImageFolder.open(temporary.resolve("images"), ImageLimits.defaults(), logins);
  }

  private Reference reference(String repository) {
    return Reference.parse(name(registry) + "/" + repository);
  }

  private static String name(HttpServer server) {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  private static HttpServer server() throws IOException {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.start();
    return server;
  }
}
