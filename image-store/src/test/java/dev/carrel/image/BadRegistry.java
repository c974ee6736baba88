package dev.carrel.image;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Stands before a registry: breaks connections off, wants tokens, leads astray. */
final class BadRegistry implements AutoCloseable {
  static final String LOGIN = "ada:correct horse";
  private static final String TOKEN = "token-of-a-test";

  private final HttpClient client = HttpClient.newHttpClient();
  private final HttpServer server;
  private final String behind;
  private final boolean wantsToken;
  private final List<String> ranges = new CopyOnWriteArrayList<>();
  private final AtomicLong cut = new AtomicLong(-1);
  private volatile @Nullable String redirect;

  BadRegistry(String behind, boolean wantsToken) throws IOException {
    this.behind = behind;
    this.wantsToken = wantsToken;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/token", this::token);
    server.createContext("/v2/", this::forward);
    server.start();
  }

  String name() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  void cutBlobsOnceAfter(long bytes) {
    cut.set(bytes);
  }

  void redirectBlobs(String place) {
    redirect = place;
  }

  /** The ranges that were asked for. */
  List<String> ranges() {
    return ranges;
  }

  private void token(HttpExchange exchange) throws IOException {
    String login =
        "Basic " + Base64.getEncoder().encodeToString(LOGIN.getBytes(StandardCharsets.UTF_8));
    boolean known = login.equals(exchange.getRequestHeaders().getFirst("Authorization"));
    String query = exchange.getRequestURI().getRawQuery();
    boolean scoped = query.contains("scope=repository%3Aprivate%3Apull");
    answer(
        exchange,
        known && scoped ? 200 : 401,
        ("{\"token\":\"" + TOKEN + "\"}").getBytes(StandardCharsets.UTF_8));
  }

  private void forward(HttpExchange exchange) throws IOException {
    String given = exchange.getRequestHeaders().getFirst("Authorization");
    if (wantsToken && !("Bearer " + TOKEN).equals(given)) {
      exchange
          .getResponseHeaders()
          .set(
              "WWW-Authenticate",
              "Bearer realm=\"http://%s/token\",service=\"test\",scope=\"x\"".formatted(name()));
      answer(exchange, 401, new byte[0]);
      return;
    }
    boolean blob = exchange.getRequestURI().getPath().contains("/blobs/");
    if (blob && redirect != null) {
      exchange.getResponseHeaders().set("Location", redirect);
      answer(exchange, 307, new byte[0]);
      return;
    }
    HttpResponse<byte[]> real = ask(exchange);
    for (String name : List.of("Content-Type", "Content-Range", "Docker-Content-Digest")) {
      real.headers()
          .firstValue(name)
          .ifPresent(value -> exchange.getResponseHeaders().set(name, value));
    }
    byte[] body = real.body();
    long most = blob && body.length > cut.get() ? cut.getAndSet(-1) : -1;
    if (most < 0) {
      answer(exchange, real.statusCode(), body);
      return;
    }
    exchange.sendResponseHeaders(real.statusCode(), body.length);
    OutputStream out = exchange.getResponseBody();
    out.write(Arrays.copyOf(body, (int) most));
    out.flush();
    // With bytes still owed this ends the connection.
    exchange.close();
  }

  private HttpResponse<byte[]> ask(HttpExchange exchange) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://" + behind + exchange.getRequestURI()));
    for (String name : List.of("Accept", "Range")) {
      String value = exchange.getRequestHeaders().getFirst(name);
      if (value != null) {
        request.header(name, value);
      }
    }
    String range = exchange.getRequestHeaders().getFirst("Range");
    if (range != null) {
      ranges.add(range);
    }
    try {
      return client.send(request.build(), BodyHandlers.ofByteArray());
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(body);
    }
  }

  @Override
  public void close() {
    server.stop(0);
    client.close();
  }
}
