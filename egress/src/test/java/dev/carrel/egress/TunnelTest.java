package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.egress.ProxyFixture.Client;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
final class TunnelTest {
  private ProxyFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ProxyFixture();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void bytesPassBothWaysAndEndsAreTold() throws Exception {
    byte[] data = new byte[8 << 20];
    new Random(1).nextBytes(data);
    data[0] = 0;
    try (Client client = tunnel()) {
      Thread sending =
          Thread.startVirtualThread(
              () -> {
                try {
                  client.send(data);
                  client.endOutput();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      assertThat(client.read(data.length)).isEqualTo(data);
      assertThat(client.read(1)).isEmpty();
      sending.join();
    }
    assertThat(fixture.gate().sent()).isEqualTo(data.length);
    assertThat(fixture.gate().received()).isEqualTo(data.length);
  }

  @Test
  void tlsThatNamesItsHostPasses() throws IOException {
    for (byte[] hello :
        List.of(
            Hellos.naming(ProxyFixture.ECHO),
            Hellos.naming("ECHO.example."),
            Hellos.spread(ProxyFixture.ECHO, 7))) {
      try (Client client = tunnel()) {
        client.send(hello);
        assertThat(client.read(hello.length)).isEqualTo(hello);
      }
    }
  }

  /** A server may ask for a second hello, in the clear like the first: it is checked like that. */
  @ParameterizedTest
  @ValueSource(strings = {"echo.example", "other.example"})
  void secondHelloIsHeldToTheSameName(String second) throws Exception {
    byte[] first = Hellos.naming(ProxyFixture.ECHO);
    byte[] between = {20, 3, 3, 0, 1, 1};
    byte[] next = Hellos.join(between, Hellos.naming(second));
    try (var listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int port = listener.socket().getLocalPort();
      String target = ProxyFixture.ECHO + ":" + port;
      fixture.gate().policy(Policy.NOTHING.withAllow(List.of(Rule.parse(target))));
      try (Client client = fixture.connect()) {
        client.send("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(target, target));
        client.until("\r\n\r\n");
        // At once, as one who does not wait to be asked.
        client.send(Hellos.join(first, next));
        client.endOutput();
        try (SocketChannel server = listener.accept()) {
          ByteBuffer got = ByteBuffer.allocate(4096);
          while (got.position() < first.length && server.read(got) >= 0) {}
          assertThat(got.position()).as("nothing before the answer").isEqualTo(first.length);
          server.write(ByteBuffer.wrap(Hellos.retry()));
          while (server.read(got) >= 0) {}
          int all = first.length + next.length;
          assertThat(got.position())
              .isEqualTo(second.equals(ProxyFixture.ECHO) ? all : first.length + between.length);
        }
      }
    }
  }

  static List<byte[]> wrongHellos() {
    return List.of(
        Hellos.naming("other.example"),
        Hellos.naming("echo.example.other.example"),
        Hellos.naming("echo.example\0.other.example"),
        Hellos.naming(""),
        Hellos.nameless(),
        Hellos.spread("other.example", 5),
        Hellos.naming(ProxyFixture.ECHO, Hellos.extension(Hellos.ECH, new byte[] {0})),
        Hellos.naming(ProxyFixture.ECHO, Hellos.extension(0, Hellos.names("other.example"))),
        Hellos.record(
            Hellos.message(Hellos.extension(0, Hellos.names(ProxyFixture.ECHO, "other.example")))),
        Hellos.record(new byte[] {2, 0, 0, 0}),
        Hellos.record(new byte[] {1, 0, 0, 1, 0, 0}),
        new byte[] {22, 3, 1, 0, 0},
        new byte[] {22, 9, 1, 0, 1, 1});
  }

  @ParameterizedTest
  @MethodSource("wrongHellos")
  void tlsThatNamesAnotherHostDoesNot(byte[] hello) throws IOException {
    try (Client client = tunnel()) {
      client.send(hello);
      client.rest();
    }
    assertThat(fixture.echoed).isEmpty();
    assertThat(fixture.decisions).anyMatch(d -> d.reason() != null);
  }

  @Test
  void onlyTlsGoesWhereARuleMeansTheWeb() throws Exception {
    var target = new Target(Host.parse(ProxyFixture.ECHO), 443);
    for (String plain : List.of("GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\u0005\u0001\u0000")) {
      assertThat(checked(new TlsCheck(target, true), plain.getBytes(StandardCharsets.ISO_8859_1)))
          .isEqualTo(Reason.NO_TLS);
      assertThat(checked(new TlsCheck(target, false), plain.getBytes(StandardCharsets.ISO_8859_1)))
          .isNull();
    }
    var address = new Target(Host.parse("93.184.216.34"), 443);
    assertThat(checked(new TlsCheck(address, true), Hellos.nameless())).isNull();
    assertThat(checked(new TlsCheck(address, true), Hellos.naming("a.example")))
        .isEqualTo(Reason.TLS_NAME);
  }

  @Test
  void helloParserSurvivesEverything() {
    var random = new Random(7);
    byte[] good = Hellos.message(Hellos.extension(0, Hellos.names("a.example")));
    for (int i = 0; i < 100_000; i++) {
      byte[] bad = good.clone();
      for (int changes = 1 + random.nextInt(4); changes > 0; changes--) {
        bad[4 + random.nextInt(bad.length - 4)] = (byte) random.nextInt();
      }
      int length = 4 + random.nextInt(bad.length - 3);
      ByteBuffer bytes = ByteBuffer.wrap(bad, 4, length - 4).slice();
      try {
        ClientHello.parse(bytes, 0);
      } catch (RefusedException expected) {
        assertThat(expected.reason()).isIn(Reason.MALFORMED, Reason.TLS_NAME);
      }
    }
  }

  @Test
  void tunnelToThePlainWebIsReadAsHttp() throws IOException {
    fixture.gate().policy(Policy.NOTHING.withAllow(List.of(Rule.parse(ProxyFixture.WEB + " GET"))));
    try (Client client = fixture.connect()) {
      client.send("CONNECT web.example:80 HTTP/1.1\r\nHost: web.example:80\r\n\r\n");
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200 Connection established");
      client.send("POST / HTTP/1.1\r\nHost: web.example\r\nContent-Length: 0\r\n\r\n");
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 403 Egress method_or_path");
    }
    try (Client client = fixture.connect()) {
      client.send("CONNECT web.example:80 HTTP/1.1\r\nHost: web.example:80\r\n\r\n");
      client.until("\r\n\r\n");
      client.send("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n");
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 400 Egress malformed");
    }
    try (Client client = fixture.connect()) {
      client.send("CONNECT web.example:80 HTTP/1.1\r\nHost: web.example:80\r\n\r\n");
      client.until("\r\n\r\n");
      client.send("CONNECT web.example:443 HTTP/1.1\r\nHost: web.example:443\r\n\r\n");
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 400 Egress malformed");
    }
  }

  @Test
  void newPolicyCutsTunnelsThatItDoesNotAllow() throws IOException {
    try (Client client = tunnel()) {
      client.send("before");
      assertThat(client.text(6)).isEqualTo("before");
      fixture.gate().policy(Policy.NOTHING.withAllow(List.of(Rule.parse("else.example"))));
      assertThat(client.rest()).isEmpty();
    }
    assertThat(fixture.decisions.getLast().outcome()).isEqualTo(Decision.Outcome.DENIED);
  }

  @Test
  void budgetCutsWhatPassesIt() throws IOException {
    fixture.gate().policy(fixture.allowed().withBudget(100_000, 0));
    try (Client client = tunnel()) {
      client.send(new byte[60_000]);
      client.rest();
    }
    assertThat(fixture.decisions.getLast().reason()).isEqualTo(Reason.BUDGET);
    assertThat(
            fixture.ask(
                "CONNECT echo.example:%d HTTP/1.1\r\nHost: echo.example:%d\r\n\r\n"
                    .formatted(fixture.echoPort(), fixture.echoPort())))
        .startsWith("HTTP/1.1 403 Egress budget");
  }

  @Test
  void paceHoldsOverAllConnections() throws IOException {
    fixture.gate().policy(fixture.allowed().withBudget(0, 400_000));
    long begin = System.nanoTime();
    try (Client one = tunnel();
        Client two = tunnel()) {
      one.send(new byte[100_000]);
      two.send(new byte[100_000]);
      assertThat(one.read(100_000)).hasSize(100_000);
      assertThat(two.read(100_000)).hasSize(100_000);
    }
    // 400,000 bytes in all; a quarter of a second's worth may come at once. Slower is no failure.
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(Duration.ofMillis(600));
  }

  @Test
  void connectionsAreBounded() throws IOException {
    fixture.close();
    fixture = new ProxyFixture(settings -> settings.withMaxConnections(2));
    try (Client one = tunnel();
        Client two = tunnel();
        Client three = fixture.connect()) {
      assertThat(three.rest()).startsWith("HTTP/1.1 503 Egress too_many");
      one.send("x");
      two.send("y");
      assertThat(one.text(1) + two.text(1)).isEqualTo("xy");
    }
  }

  @Test
  void closingAGateEndsItsConnections() throws IOException {
    try (Client client = tunnel()) {
      fixture.proxy().close(fixture.gate());
      assertThat(client.rest()).isEmpty();
    }
  }

  @Test
  void socksConnectsByName() throws IOException {
    try (Client client = fixture.connect()) {
      client.send(new byte[] {5, 2, 2, 0});
      assertThat(client.read(2)).containsExactly(5, 0);
      client.send(socks(1, ProxyFixture.ECHO, fixture.echoPort()));
      assertThat(client.read(10)).startsWith(5, 0);
      client.send("\0hello");
      assertThat(client.text(6)).isEqualTo("\0hello");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "echo.example\0.other.example",
        "other.example\0echo.example",
        "user@echo.example",
        "echo.example:80",
        "echo..example",
        "0x7f.1",
        "127.1",
        "::1",
        "e\u00e4.example",
        ""
      })
  void socksTakesNoHostThatCanBeReadInTwoWays(String host) throws IOException {
    assertThat(socksReply(socks(1, host, fixture.echoPort()))).isEqualTo(1);
    assertThat(fixture.echoed).isEmpty();
  }

  @Test
  void socksRefusesByItsOwnCodes() throws IOException {
    int port = fixture.echoPort();
    assertThat(socksReply(socks(1, "other.example", port))).isEqualTo(2);
    assertThat(socksReply(socks(1, "127.0.0.1", port))).isEqualTo(2);
    assertThat(socksReply(new byte[] {5, 1, 0, 1, 127, 0, 0, 1, (byte) (port >> 8), (byte) port}))
        .isEqualTo(2);
    assertThat(socksReply(socks(2, ProxyFixture.ECHO, port))).isEqualTo(7);
    assertThat(socksReply(socks(3, ProxyFixture.ECHO, port))).isEqualTo(7);
    try (Client client = fixture.connect()) {
      client.send(new byte[] {5, 1, 2});
      assertThat(client.read(2)).containsExactly(5, 0xff);
    }
  }

  private static byte[] socks(int command, String host, int port) {
    byte[] name = host.getBytes(StandardCharsets.ISO_8859_1);
    return ByteBuffer.allocate(7 + name.length)
        .put(new byte[] {5, (byte) command, 0, 3, (byte) name.length})
        .put(name)
        .putShort((short) port)
        .array();
  }

  private int socksReply(byte[] request) throws IOException {
    try (Client client = fixture.connect()) {
      client.send(new byte[] {5, 1, 0});
      client.read(2);
      client.send(request);
      return client.read(10)[1];
    }
  }

  private Client tunnel() throws IOException {
    Client client = fixture.connect();
    String target = ProxyFixture.ECHO + ":" + fixture.echoPort();
    client.send("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(target, target));
    assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200");
    return client;
  }

  private static @Nullable Reason checked(TlsCheck check, byte[] first) throws IOException {
    ByteBuffer input = ByteBuffer.allocate(Buffers.SIZE);
    try (var listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      try (var sending = SocketChannel.open(listener.getLocalAddress());
          var receiving = listener.accept()) {
        sending.write(ByteBuffer.wrap(first));
        sending.shutdownOutput();
        check.check(new Wire(receiving, input));
        return null;
      } catch (RefusedException e) {
        return e.reason();
      }
    }
  }
}
