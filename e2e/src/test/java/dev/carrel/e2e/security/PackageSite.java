package dev.carrel.e2e.security;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A Python index on this host's loopback that keeps its files itself and can stop in the midst of
 * one.
 */
final class PackageSite implements AutoCloseable {
  private static final CountDownLatch OPEN = new CountDownLatch(0);

  /** What was asked of it: host and path. */
  final List<String> asked = new CopyOnWriteArrayList<>();

  private final HttpServer server;
  private final String host;
  private final Map<String, byte[]> pages = new ConcurrentHashMap<>();
  private volatile CountDownLatch rest = OPEN;
  private volatile String stopped = "";

  PackageSite(String host) throws IOException {
    this.host = host;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/", this::answer);
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  String index() {
    return "http://%s:%d/simple".formatted(host, port());
  }

  /** Offers a project with one wheel, whose module says this; returns where the wheel is. */
  String offer(String name, String code) throws IOException {
    byte[] wheel = wheel(name, code);
    String path = "/files/" + name + "-1.0-py3-none-any.whl";
    String address = "http://%s:%d%s".formatted(host, port(), path);
    pages.put(path, wheel);
    pages.put(
        "/simple/" + name + "/",
        "<!DOCTYPE html><html><body><a href=\"%s#sha256=%s\">%s</a></body></html>"
            .formatted(address, sha256(wheel), path.substring(path.lastIndexOf('/') + 1))
            .getBytes(StandardCharsets.UTF_8));
    return address;
  }

  /** From now on only the first half of this wheel is sent. */
  void stopHalfWay(String address) {
    stopped = address.substring(address.indexOf("/files/"));
    rest = new CountDownLatch(1);
  }

  void goOn() {
    rest.countDown();
    rest = OPEN;
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String path = exchange.getRequestURI().getPath();
      asked.add(exchange.getRequestHeaders().getFirst("Host") + path);
      byte[] body = pages.get(path);
      if (body == null) {
        exchange.sendResponseHeaders(404, -1);
        return;
      }
      boolean file = path.endsWith(".whl");
      CountDownLatch permit = path.equals(stopped) ? rest : OPEN;
      exchange
          .getResponseHeaders()
          .add("Content-Type", file ? "application/octet-stream" : "text/html");
      exchange.sendResponseHeaders(200, body.length);
      int half = file ? body.length / 2 : 0;
      exchange.getResponseBody().write(body, 0, half);
      exchange.getResponseBody().flush();
      permit.await();
      exchange.getResponseBody().write(body, half, body.length - half);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static byte[] wheel(String name, String code) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      String info = name + "-1.0.dist-info/";
      add(zip, name + ".py", code);
      add(zip, info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n");
      add(zip, info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
      add(
          zip,
          info + "RECORD",
          "%s.py,,\n%2$sMETADATA,,\n%2$sWHEEL,,\n%2$sRECORD,,\n".formatted(name, info));
    }
    return bytes.toByteArray();
  }

  private static void add(ZipOutputStream zip, String name, String text) throws IOException {
    zip.putNextEntry(new ZipEntry(name));
    zip.write(text.getBytes(StandardCharsets.UTF_8));
    zip.closeEntry();
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    goOn();
    server.stop(0);
  }
}
