package dev.carrel.egress;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** A proxy with one gate, a web server and an echo behind it, both on this host's loopback. */
final class ProxyFixture implements AutoCloseable {
  static final String WEB = "web.example";
  static final String ECHO = "echo.example";
  private static final Presets NONE =
      new Presets() {
        @Override
        public Set<String> names() {
          return Set.of();
        }

        @Override
        public List<Rule> rules(String name) {
          return List.of();
        }
      };

  private final Path folder = Files.createTempDirectory(Path.of("/tmp"), "eg");
  private final HttpServer web;
  private final ServerSocketChannel echo = ServerSocketChannel.open();
  private final EgressProxy proxy;
  private final Gate gate;
  final List<Decision> decisions = new CopyOnWriteArrayList<>();

  /** What reached the web server: start line, headers and body. */
  final List<Seen> seen = new CopyOnWriteArrayList<>();

  final List<String> echoed = new CopyOnWriteArrayList<>();

  record Seen(String method, String uri, Map<String, List<String>> headers, String body) {}

  ProxyFixture() throws IOException {
    this(settings -> settings);
  }

  ProxyFixture(UnaryOperator<EgressSettings> change) throws IOException {
    this(change, Pipes.open());
  }

  ProxyFixture(UnaryOperator<EgressSettings> change, Pipes pipes) throws IOException {
    web = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    web.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    web.createContext("/", this::answer);
    web.start();
    echo.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    Thread.startVirtualThread(this::serveEcho);
    List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
    EgressSettings settings =
        EgressSettings.defaults().withPinned(Map.of(Host.parse(WEB), here, Host.parse(ECHO), here));
    proxy = new EgressProxy(change.apply(settings), NONE, pipes);
    gate = proxy.open("sbtest", folder.resolve("egress.sock"), decisions::add);
    gate.policy(allowed());
  }

  Policy allowed() {
    return Policy.NOTHING.withAllow(
        List.of(Rule.parse(web(WEB)), Rule.parse(ECHO + ":" + echoPort())));
  }

  Gate gate() {
    return gate;
  }

  EgressProxy proxy() {
    return proxy;
  }

  /** This host with the web server's port. */
  String web(String host) {
    return host + ":" + web.getAddress().getPort();
  }

  int echoPort() {
    return echo.socket().getLocalPort();
  }

  Client connect() throws IOException {
    return new Client(
        SocketChannel.open(UnixDomainSocketAddress.of(folder.resolve("egress.sock"))));
  }

  /** Sends these bytes on a connection of their own and reads until its end. */
  String ask(String text) throws IOException {
    try (Client client = connect()) {
      client.send(text);
      client.endOutput();
      return client.rest();
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.ISO_8859_1);
    seen.add(
        new Seen(
            exchange.getRequestMethod(),
            exchange.getRequestURI().toString(),
            Map.copyOf(exchange.getRequestHeaders()),
            body));
    exchange.getResponseHeaders().add("X-Server", "web");
    byte[] answer = ("you sent " + body.length()).getBytes(StandardCharsets.UTF_8);
    boolean chunked = exchange.getRequestURI().getPath().equals("/chunked");
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(200, head ? -1 : chunked ? 0 : answer.length);
    if (!head) {
      exchange.getResponseBody().write(answer);
    }
    exchange.close();
  }

  private void serveEcho() {
    while (echo.isOpen()) {
      try {
        SocketChannel connection = echo.accept();
        Thread.startVirtualThread(() -> echo(connection));
      } catch (IOException e) {
        return;
      }
    }
  }

  private void echo(SocketChannel connection) {
    try (connection) {
      ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);
      while (connection.read(buffer.clear()) >= 0) {
        buffer.flip();
        if (echoed.size() < 100) {
          echoed.add(StandardCharsets.ISO_8859_1.decode(buffer.duplicate()).toString());
        }
        while (buffer.hasRemaining()) {
          connection.write(buffer);
        }
      }
    } catch (IOException e) {
      echoed.add("broken: " + e);
    }
  }

  @Override
  public void close() throws IOException {
    proxy.close();
    echo.close();
    web.stop(0);
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }

  /** A connection to the proxy. */
  static final class Client implements AutoCloseable {
    private final SocketChannel channel;

    Client(SocketChannel channel) {
      this.channel = channel;
    }

    SocketChannel channel() {
      return channel;
    }

    void send(String text) throws IOException {
      send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    void send(byte[] bytes) throws IOException {
      ByteBuffer buffer = ByteBuffer.wrap(bytes);
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    }

    void endOutput() throws IOException {
      channel.shutdownOutput();
    }

    /** So many bytes, or what there is before the end. */
    byte[] read(int count) throws IOException {
      ByteBuffer buffer = ByteBuffer.allocate(count);
      while (buffer.hasRemaining() && channel.read(buffer) >= 0) {}
      byte[] bytes = new byte[buffer.position()];
      buffer.flip().get(bytes);
      return bytes;
    }

    String text(int count) throws IOException {
      return new String(read(count), StandardCharsets.ISO_8859_1);
    }

    /** Up to and with these characters. */
    String until(String end) throws IOException {
      var text = new StringBuilder();
      while (text.indexOf(end) < 0) {
        String next = text(1);
        if (next.isEmpty()) {
          return text.toString();
        }
        text.append(next);
      }
      return text.toString();
    }

    String rest() throws IOException {
      var all = new ByteArrayOutputStream();
      ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);
      try {
        while (channel.read(buffer.clear()) >= 0) {
          all.write(buffer.array(), 0, buffer.position());
        }
      } catch (IOException reset) {
        // A peer that hangs up with bytes unread resets the connection: that is an end, too.
        return all.toString(StandardCharsets.ISO_8859_1);
      }
      return all.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
