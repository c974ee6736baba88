package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

/**
 * What the way out costs: the same requests to the same server on loopback, straight and through a
 * sandbox's gate, taking turns. The gate is used from outside of its sandbox, where the straight
 * way exists too; what the relay inside adds is a line of its own.
 */
final class EgressBench {
  private static final String HOST = "bench.example.net";
  private static final byte[] SMALL =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".getBytes(StandardCharsets.US_ASCII);
  private static final long CHUNK = 256L << 20;
  private static final int ROUNDS = 21;
  // What both ends and the proxy compile meanwhile would be taken from three that need two
  // processors.
  private static final int UNCOUNTED = 20;
  private static final String STRAIGHT = "GET on loopback, straight";

  private final ServerProcess server;
  private final Report report;

  EgressBench(ServerProcess server, Report report) {
    this.server = server;
    this.report = report;
  }

  static Map<String, String> settings() {
    return Map.of("CARREL_EGRESS_HOSTS", HOST + "=127.0.0.1");
  }

  void measure(int count) throws Exception {
    try (Target target = new Target();
        HttpConnection http = server.connect()) {
      String allow = HOST + ":" + target.port();
      String id =
          new ObjectMapper()
              .readTree(
                  http.post("/api/v1/sandboxes", "{\"network\":{\"allow\":[\"" + allow + "\"]}}"))
              .get("id")
              .asText();
      SocketAddress gate =
          UnixDomainSocketAddress.of(
              server.runDirectory().resolve("egress").resolve(id).resolve("egress.sock"));
      latency(target, gate, count * 5);
      throughput(target, gate);
      inside(http, id, allow);
      http.delete("/api/v1/sandboxes/" + id);
    }
  }

  private void latency(Target target, SocketAddress gate, int count) throws Exception {
    String host = HOST + ":" + target.port();
    byte[] request =
        "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n"
            .formatted(host, host)
            .getBytes(StandardCharsets.US_ASCII);
    try (Peer straight = new Peer(target.address());
        Peer through = new Peer(gate)) {
      // In turns, so that whatever else the machine does meets both.
      long[] one = new long[count];
      long[] two = new long[count];
      for (int i = -count / 10; i < count; i++) {
        long begin = System.nanoTime();
        straight.ask(request);
        long middle = System.nanoTime();
        through.ask(request);
        if (i >= 0) {
          one[i] = middle - begin;
          two[i] = System.nanoTime() - middle;
        }
      }
      Samples direct = Samples.of(one);
      Samples proxied = Samples.of(two);
      report.add(Row.floor(STRAIGHT, direct));
      report.add(Row.latency("GET through the proxy", proxied, 2, STRAIGHT));
      report.add(
          Row.figure(
              "proxy: added latency, p50", proxied.p50Millis() - direct.p50Millis(), "ms", 1));
    }
    long[] opened = new long[count / 5];
    for (int i = 0; i < opened.length; i++) {
      long begin = System.nanoTime();
      tunnel(target, gate).close();
      opened[i] = System.nanoTime() - begin;
    }
    report.add(Row.floor("CONNECT until the tunnel stands", Samples.of(opened)));
  }

  private void throughput(Target target, SocketAddress gate) throws Exception {
    double[] straight = new double[ROUNDS];
    double[] through = new double[ROUNDS];
    for (int i = -UNCOUNTED; i < ROUNDS; i++) {
      double one;
      double two;
      try (Peer peer = new Peer(target.address())) {
        one = peer.download();
      }
      try (Peer peer = tunnel(target, gate)) {
        two = peer.download();
      }
      if (i >= 0) {
        straight[i] = one;
        through[i] = two;
      }
    }
    double direct = median(straight);
    double proxied = median(through);
    report.add(Row.rate("download on loopback, straight", direct, "MB/s", null));
    report.add(Row.rate("download through the proxy", proxied, "MB/s", null));
    report.add(
        Row.rate("proxy: part of the straight throughput", 100 * proxied / direct, "%", 80.0));
  }

  private void inside(HttpConnection http, String id, String host) throws Exception {
    String command =
        "{\"command\":\"curl -s -o /dev/null -w %{speed_download} http://" + host + "/big\"}";
    String speed =
        new ObjectMapper()
            .readTree(http.post("/api/v1/sandboxes/" + id + "/exec", command))
            .get("stdout")
            .asText();
    report.add(
        Row.note(
            "download in the sandbox, curl and relay", Double.parseDouble(speed) / 1e6, "MB/s"));
  }

  private static Peer tunnel(Target target, SocketAddress gate) throws IOException {
    var peer = new Peer(gate);
    String host = HOST + ":" + target.port();
    peer.ask(
        "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n"
            .formatted(host, host)
            .getBytes(StandardCharsets.US_ASCII));
    return peer;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** A client that sends a request and reads one answer, or very much. */
  private static final class Peer implements Closeable {
    private final SocketChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(256 * 1024);

    Peer(SocketAddress address) throws IOException {
      channel = SocketChannel.open(address);
      if (address instanceof InetSocketAddress) {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      }
    }

    /** Small answers come in one piece or two. */
    void ask(byte[] request) throws IOException {
      channel.write(ByteBuffer.wrap(request));
      buffer.clear();
      while (!complete()) {
        if (channel.read(buffer) < 0) {
          throw new EOFException("no answer");
        }
      }
    }

    private boolean complete() {
      String text = StandardCharsets.US_ASCII.decode(buffer.duplicate().flip()).toString();
      return (text.endsWith("\r\n\r\n") && !text.contains("Content-Length")) || text.endsWith("ok");
    }

    /** In MB/s. */
    double download() throws IOException {
      channel.write(
          ByteBuffer.wrap("GET /big HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
      long begin = System.nanoTime();
      long read = 0;
      while (read < CHUNK) {
        int got = channel.read(buffer.clear());
        if (got < 0) {
          throw new EOFException("the download broke off");
        }
        read += got;
      }
      return CHUNK / ((System.nanoTime() - begin) / 1e3);
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** A web server as quick as can be. */
  private static final class Target implements Closeable {
    private final ServerSocketChannel listener =
        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));

    Target() throws IOException {
      Thread.ofPlatform().daemon().name("bench-target").start(this::accept);
    }

    InetSocketAddress address() throws IOException {
      return (InetSocketAddress) listener.getLocalAddress();
    }

    int port() throws IOException {
      return address().getPort();
    }

    private void accept() {
      while (listener.isOpen()) {
        try {
          SocketChannel connection = listener.accept();
          connection.setOption(StandardSocketOptions.TCP_NODELAY, true);
          Thread.ofPlatform().daemon().name("bench-answer").start(() -> serve(connection));
        } catch (IOException e) {
          return;
        }
      }
    }

    private static void serve(SocketChannel connection) {
      ByteBuffer request = ByteBuffer.allocate(4096);
      try (connection) {
        while (connection.read(request) >= 0) {
          String text = StandardCharsets.US_ASCII.decode(request.duplicate().flip()).toString();
          if (text.endsWith("\r\n\r\n")) {
            request.clear();
            if (text.startsWith("GET /big")) {
              big(connection);
              return;
            }
            connection.write(ByteBuffer.wrap(SMALL));
          }
        }
      } catch (IOException e) {
        Thread.currentThread().interrupt(); // the client has gone
      }
    }

    private static void big(SocketChannel connection) throws IOException {
      ByteBuffer data = ByteBuffer.allocateDirect(256 * 1024);
      connection.write(
          ByteBuffer.wrap(
              ("HTTP/1.1 200 OK\r\nContent-Length: " + CHUNK + "\r\n\r\n")
                  .getBytes(StandardCharsets.US_ASCII)));
      for (long sent = 0; sent < CHUNK; ) {
        data.clear().limit((int) Math.min(data.capacity(), CHUNK - sent));
        while (data.hasRemaining()) {
          sent += connection.write(data);
        }
      }
    }

    @Override
    public void close() throws IOException {
      listener.close();
    }
  }
}
