package dev.carrel.control.packages;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.jspecify.annotations.Nullable;

/** Registries on this host's loopback, under any name; counts what is asked of them. */
final class TestIndex implements AutoCloseable {
  private static final String JSON = "application/vnd.pypi.simple.v1+json";

  private final HttpServer server;
  // By host and path: "index.example.net/simple/x/".
  private final Map<String, Page> pages = new ConcurrentHashMap<>();
  private final Map<String, AtomicInteger> asked = new ConcurrentHashMap<>();
  private final Map<String, CountDownLatch> held = new ConcurrentHashMap<>();
  private volatile CountDownLatch gate = new CountDownLatch(0);

  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Page(String type, byte[] body) {}

  TestIndex() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/", this::answer);
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  URI at(String hostAndPath) {
    int slash = hostAndPath.indexOf('/');
    return URI.create(
        "http://%s:%d%s"
            .formatted(hostAndPath.substring(0, slash), port(), hostAndPath.substring(slash)));
  }

  void put(String hostAndPath, String type, byte[] body) {
    pages.put(hostAndPath, new Page(type, body));
  }

  /** From now on says how large it is and sends nothing of it until it is let go. */
  CountDownLatch hold(String hostAndPath) {
    return held.computeIfAbsent(hostAndPath, _ -> new CountDownLatch(1));
  }

  /** From now on nothing is answered. */
  void hold() {
    gate = new CountDownLatch(1);
  }

  void release() {
    gate.countDown();
  }

  int asked(String hostAndPath) {
    return asked.computeIfAbsent(hostAndPath, _ -> new AtomicInteger()).get();
  }

  private void answer(HttpExchange exchange) throws IOException {
    String host = exchange.getRequestHeaders().getFirst("Host").replaceAll(":.*", "");
    String key = host + exchange.getRequestURI().getPath();
    asked.computeIfAbsent(key, _ -> new AtomicInteger()).incrementAndGet();
    await(gate);
    boolean json = String.valueOf(exchange.getRequestHeaders().getFirst("Accept")).contains(JSON);
    Page page =
        json && pages.containsKey(key + "?json") ? pages.get(key + "?json") : pages.get(key);
    if (page == null) {
      exchange.sendResponseHeaders(404, -1);
    } else {
      exchange.getResponseHeaders().add("Content-Type", page.type);
      exchange.sendResponseHeaders(200, page.body.length);
      exchange.getResponseBody().flush();
      await(held.get(key));
      exchange.getResponseBody().write(page.body);
    }
    exchange.close();
  }

  private static void await(@Nullable CountDownLatch latch) throws IOException {
    try {
      if (latch != null) {
        latch.await();
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** A project with one wheel, told in HTML. */
  void project(String index, String name, URI wheel, String sha256) {
    put(
        index + "/simple/" + name + "/",
        "text/html",
        "<!DOCTYPE html><html><body><a href=\"%s#sha256=%s\">%s</a></body></html>"
            .formatted(wheel, sha256, fileName(wheel))
            .getBytes(StandardCharsets.UTF_8));
  }

  /** As {@link #project}, for who understands JSON. */
  void jsonProject(String index, String name, URI wheel, String sha256) {
    put(
        index + "/simple/" + name + "/?json",
        JSON,
        """
        {"meta": {"api-version": "1.0"}, "name": "%s",
         "files": [{"filename": "%s", "url": "%s", "hashes": {"sha256": "%s"}}]}
        """
            .formatted(name, fileName(wheel), wheel, sha256)
            .getBytes(StandardCharsets.UTF_8));
  }

  private static String fileName(URI uri) {
    return uri.getPath().substring(uri.getPath().lastIndexOf('/') + 1);
  }

  static byte[] wheel(String name, String code) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      String info = name + "-1.0.dist-info/";
      for (List<String> file :
          List.of(
              List.of(name + ".py", code),
              List.of(
                  info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n"),
              List.of(
                  info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
              List.of(
                  info + "RECORD",
                  "%s.py,,\n%2$sMETADATA,,\n%2$sWHEEL,,\n%2$sRECORD,,\n".formatted(name, info)))) {
        zip.putNextEntry(new ZipEntry(file.getFirst()));
        zip.write(file.getLast().getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
      }
    }
    return bytes.toByteArray();
  }

  static byte[] digest(String algorithm, byte[] bytes) {
    try {
      return MessageDigest.getInstance(algorithm).digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  static String sha256(byte[] bytes) {
    return HexFormat.of().formatHex(digest("SHA-256", bytes));
  }

  @Override
  public void close() {
    held.values().forEach(CountDownLatch::countDown);
    release();
    server.stop(0);
  }
}
