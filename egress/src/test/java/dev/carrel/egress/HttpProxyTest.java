package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.egress.ProxyFixture.Client;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
final class HttpProxyTest {
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
  void requestsFollowEachOtherOnOneConnection() throws IOException {
    try (Client client = fixture.connect()) {
      for (int i = 0; i < 3; i++) {
        client.send(get("/a" + i));
        assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200").contains("X-server: web");
        assertThat(client.text(10)).isEqualTo("you sent 0");
      }
    }
    assertThat(fixture.seen)
        .extracting(ProxyFixture.Seen::uri)
        .containsExactly("/a0", "/a1", "/a2");
    assertThat(fixture.decisions).allMatch(d -> d.outcome() == Decision.Outcome.ALLOWED).hasSize(3);
  }

  @Test
  void aRefusedRequestSaysWhyAndLetsTheNextOnePass() throws IOException {
    try (Client client = fixture.connect()) {
      client.send("GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n");
      String head = client.until("\r\n\r\n");
      assertThat(head)
          .startsWith("HTTP/1.1 403 Egress not_allowed: no rule of this sandbox's policy allows");
      String body =
          client.text(Integer.parseInt(head.replaceAll("(?s).*Content-Length: (\\d+).*", "$1")));
      assertThat(body)
          .contains("\"code\":\"egress_not_allowed\"", "carrel egress allow sbtest other.example");
      client.send(get("/"));
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200");
    }
    assertThat(fixture.decisions.getFirst().outcome()).isEqualTo(Decision.Outcome.DENIED);
  }

  @Test
  void bodiesPassBothWays() throws IOException {
    String url = "http://" + fixture.web(ProxyFixture.WEB) + "/chunked";
    String answer =
        fixture.ask(
            "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 5\r\n\r\nhello"
                .formatted(url, fixture.web(ProxyFixture.WEB)));
    assertThat(answer)
        .startsWith("HTTP/1.1 200")
        .contains("Transfer-Encoding: chunked", "you sent 5");
    answer =
        fixture.ask(
            "POST %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n"
                .formatted(url, fixture.web(ProxyFixture.WEB)));
    assertThat(answer).startsWith("HTTP/1.1 200").contains("you sent 5");
    assertThat(fixture.seen).extracting(ProxyFixture.Seen::body).containsExactly("hello", "abcde");
    answer =
        fixture.ask(
            "HEAD %s HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(url, fixture.web(ProxyFixture.WEB)));
    assertThat(answer).startsWith("HTTP/1.1 200").endsWith("\r\n\r\n");
  }

  @Test
  void whatIsMeantForTheProxyEndsThere() throws IOException {
    fixture.ask(
        "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\nProxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nX-Kept: 2\r\n\r\n"
            .formatted(fixture.web(ProxyFixture.WEB), fixture.web(ProxyFixture.WEB)));
    assertThat(fixture.seen).hasSize(1);
    assertThat(fixture.seen.getFirst().headers().keySet())
        .contains("X-kept")
        .doesNotContain(
            "X-secret", "Proxy-authorization", "Proxy-connection", "Te", "Upgrade", "Keep-alive");
  }

  /** Each of these would be one request to us and another, or two, to somebody else. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Host: HOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Host: HOST\r\nContent-Length: 4\r\nContent-Length: 4\r\n",
        "Host: HOST\r\nContent-Length: 4\r\nContent-Length: 5\r\n",
        "Host: HOST\r\nContent-Length: 4, 4\r\n",
        "Host: HOST\r\nContent-Length: +4\r\n",
        "Host: HOST\r\nContent-Length: 0x4\r\n",
        "Host: HOST\r\nTransfer-Encoding: chunked, identity\r\n",
        "Host: HOST\r\nTransfer-Encoding: identity\r\n",
        "Host: HOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: HOST\r\nTransfer-Encoding:\u000bchunked\r\n",
        "Host: HOST\r\nTransfer-Encoding : chunked\r\n",
        "Host: HOST\r\n Transfer-Encoding: chunked\r\n",
        "Host: HOST\r\nX: a\r\n b\r\n",
        "Host: HOST\r\nX: a\n b: c\r\n",
        "Host: HOST\r\nX: a\rb: c\r\n",
        "Host: HOST\r\nX: a\0b\r\n",
        "Host: HOST\r\nno colon\r\n",
        "Host: HOST\r\n: no name\r\n",
        "Host: HOST\r\nHost: HOST\r\n",
        "Host: other.example\r\n",
        "Host: HOST@other.example\r\n",
        "Host: HOST, other.example\r\n",
        "Host: \r\n",
        "X: without a host\r\n",
      })
  void headsThatCanBeReadInTwoWaysAreRefused(String fields) throws IOException {
    String host = fixture.web(ProxyFixture.WEB);
    String answer =
        fixture.ask(
            "POST http://%s/ HTTP/1.1\r\n%s\r\n0\r\n\r\nGET http://%s/smuggled HTTP/1.1\r\nHost: %s\r\n\r\n"
                .formatted(host, fields.replace("HOST", host), host, host));
    assertThat(answer).startsWith("HTTP/1.1 400 Egress malformed");
    assertThat(answer.split("HTTP/1.1 \\d", -1)).as("one answer").hasSize(2);
    assertThat(fixture.seen).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1",
        "GET //HOST/ HTTP/1.1",
        "GET https://HOST/ HTTP/1.1",
        "GET ftp://HOST/ HTTP/1.1",
        "GET http://user@HOST/ HTTP/1.1",
        "GET http://user:pass@HOST/ HTTP/1.1",
        "GET http://HOST@other.example/ HTTP/1.1",
        "GET http://HOST#@other.example/ HTTP/1.1",
        "GET http://HOST\\@other.example/ HTTP/1.1",
        "GET http://HOST\u0000.other.example/ HTTP/1.1",
        "GET http://HOST\t/ HTTP/1.1",
        "GET  http://HOST/ HTTP/1.1",
        "GET http://HOST/a b HTTP/1.1",
        "GET http://HOST/ HTTP/2.0",
        "GET http://HOST/ HTTP/1.1 ",
        "GET http://HOST/\u00e4 HTTP/1.1",
        "G(T http://HOST/ HTTP/1.1",
        "GET http:///path HTTP/1.1",
        "GET http://127.1/ HTTP/1.1",
        "GET http://[::1%25lo]/ HTTP/1.1",
        "CONNECT HOST/ HTTP/1.1",
        "CONNECT web.example HTTP/1.1",
        "CONNECT user@HOST HTTP/1.1",
      })
  void requestLinesThatCanBeReadInTwoWaysAreRefused(String line) throws IOException {
    String host = fixture.web(ProxyFixture.WEB);
    String answer =
        fixture.ask("%s\r\nHost: %s\r\n\r\n".formatted(line.replace("HOST", host), host));
    assertThat(answer).startsWith("HTTP/1.1 400 Egress malformed");
    assertThat(fixture.seen).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "4\r\nabcdeX\r\n",
        "-1\r\n",
        "4 \r\nabcd\r\n",
        "g\r\n",
        "\r\n",
        "10000000000000000\r\n",
        "4\nabcd\r\n"
      })
  void chunksThatLieEndTheConnection(String body) throws IOException {
    String host = fixture.web(ProxyFixture.WEB);
    String answer =
        fixture.ask(
            "POST http://%s/ HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\nGET http://%s/smuggled HTTP/1.1\r\nHost: %s\r\n\r\n"
                .formatted(host, host, body, host, host));
    assertThat(answer).doesNotContain("HTTP/1.1 200");
    assertThat(fixture.seen).noneMatch(request -> request.uri().contains("smuggled"));
  }

  /** One connection must not collect others by asking who answers badly. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nSMTP\r\n\r\n",
        "SMTP ready\r\n\r\n",
      })
  void aServerWhoseAnswerIsRefusedIsLeft(String bad) throws Exception {
    var left = new CountDownLatch(3);
    try (var site = ServerSocketChannel.open()) {
      site.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answerBadly(site, bad, left));
      String host = ProxyFixture.WEB + ":" + site.socket().getLocalPort();
      fixture.gate().policy(Policy.NOTHING.withAllow(List.of(Rule.parse(host))));
      try (Client client = fixture.connect()) {
        for (int i = 0; i < 3; i++) {
          client.send("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(host, host));
          String head = client.until("HTTP/1.1 502") + client.until("\r\n\r\n");
          client.text(Integer.parseInt(head.replaceAll("(?s).*Content-Length: (\\d+).*", "$1")));
        }
        assertThat(left.await(30, TimeUnit.SECONDS)).as("while the client stays").isTrue();
      }
    }
  }

  private static void answerBadly(ServerSocketChannel site, String answer, CountDownLatch left) {
    try {
      while (true) {
        SocketChannel connection = site.accept();
        Thread.startVirtualThread(() -> answerBadly(connection, answer, left));
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  private static void answerBadly(SocketChannel connection, String answer, CountDownLatch left) {
    try (var client = new Client(connection)) {
      client.until("\r\n\r\n");
      client.send(answer);
      client.rest();
      left.countDown();
    } catch (IOException e) {
      left.countDown();
    }
  }

  /** A quick server answers before the thread that has sent it the last byte is over. */
  @Test
  void whoWasNotToldOtherwiseMaySendAnother() throws IOException {
    try (Client client = fixture.connect()) {
      for (int i = 0; i < 1000; i++) {
        post(client, i);
      }
    }
  }

  @Test
  void aConnectionKeepsNothingOfTheRequestsBefore() throws IOException {
    try (Client client = fixture.connect()) {
      for (int i = 0; i < 100; i++) {
        post(client, i);
      }
      assertThat(fixture.gate().sessions())
          .singleElement()
          .satisfies(session -> assertThat(session.threads()).isLessThanOrEqualTo(2));
    }
  }

  @Test
  void headsOfAnswersAreCountedAsBodiesAre() throws Exception {
    String hint = "HTTP/1.1 103 Early Hints\r\nX: " + "x".repeat(40_000) + "\r\n\r\n";
    String answers = hint.repeat(10) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    var left = new CountDownLatch(2);
    try (var site = ServerSocketChannel.open()) {
      site.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answerBadly(site, answers, left));
      String host = ProxyFixture.WEB + ":" + site.socket().getLocalPort();
      Policy policy = Policy.NOTHING.withAllow(List.of(Rule.parse(host)));
      fixture.gate().policy(policy.withBudget(100_000, 0));
      String got = fixture.ask("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(host, host));
      assertThat(got.length()).isLessThan(100_000);
      assertThat(got).startsWith("HTTP/1.1 103").contains("HTTP/1.1 403 Egress budget");
      assertThat(fixture.gate().received()).isBetween(100_000L, 150_000L);
      assertThat(fixture.decisions.getLast().reason()).isEqualTo(Reason.BUDGET);

      Gate own = fixture.proxy().inner("own", _ -> {});
      own.policy(policy.withBudget(100_000, 0));
      Fetch fetch = fixture.proxy().fetch(new TlsEnds(Path.of("unused"), List.of()));
      assertThatExceptionOfType(FetchException.class)
          .isThrownBy(() -> fetch.get(own, URI.create("http://" + host), 1, Duration.ofSeconds(30)))
          .matches(FetchException::denied);
      assertThat(left.await(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void whoIsAnsweredWhileSendingCanReadIt() throws Exception {
    byte[] body = new byte[200_000];
    var over = new CountDownLatch(1);
    try (var site = ServerSocketChannel.open()) {
      site.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answerEarly(site, over));
      String host = ProxyFixture.WEB + ":" + site.socket().getLocalPort();
      fixture.gate().policy(Policy.NOTHING.withAllow(List.of(Rule.parse(host))));
      try (Client client = fixture.connect()) {
        client.send(
            "PUT http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n"
                .formatted(host, host, 10 * body.length));
        client.send(body);
        client.until("HTTP/1.1 413");
        client.until("\r\n\r\nno");
        // Who passes both directions on, as the relay does, would end both at a broken pipe.
        client.send(body);
        client.send(body);
        assertThat(client.rest()).isEmpty();
      }
    } finally {
      over.countDown();
    }
  }

  private static void answerEarly(ServerSocketChannel site, CountDownLatch over) {
    try {
      while (true) {
        SocketChannel connection = site.accept();
        Thread.startVirtualThread(() -> answerEarly(connection, over));
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  /** Reads nothing of the body, and does not hang up either. */
  private static void answerEarly(SocketChannel connection, CountDownLatch over) {
    try (var client = new Client(connection)) {
      client.until("\r\n\r\n");
      client.send("HTTP/1.1 413 Too much\r\nContent-Length: 2\r\n\r\nno");
      over.await();
    } catch (IOException | InterruptedException e) {
      // The test is over.
    }
  }

  @Test
  void whoIsRefusedWhileSendingCanReadWhy() throws IOException {
    byte[] body = new byte[200_000];
    try (Client client = fixture.connect()) {
      client.send(
          "PUT http://no.example/ HTTP/1.1\r\nHost: no.example\r\nContent-Length: %d\r\n\r\n"
              .formatted(body.length));
      assertThat(client.rest()).startsWith("HTTP/1.1 403");
      // Who passes both directions on, as the relay does, would end both at a broken pipe.
      client.send(body);
    }
  }

  @Test
  void hostIsComparedInItsCanonicalForm() throws IOException {
    String port = fixture.web("").substring(1);
    for (String host : List.of("WEB.example", "web.example.", "Web.Example.")) {
      assertThat(
              fixture.ask(
                  "GET http://%s:%s/ HTTP/1.1\r\nHost: web.EXAMPLE:%s\r\nConnection: close\r\n\r\n"
                      .formatted(host, port, port)))
          .startsWith("HTTP/1.1 200");
    }
    assertThat(fixture.seen.getFirst().headers().get("Host"))
        .containsExactly("web.example:" + port);
  }

  @Test
  void headsAreBounded() throws IOException {
    assertThat(fixture.ask("GET http://a/ HTTP/1.1\r\nX: " + "x".repeat(60_000)))
        .startsWith("HTTP/1.1 400");
    assertThat(fixture.ask("GET http://a/ HTTP/1.1\r\n" + "X: y\r\n".repeat(500) + "\r\n"))
        .startsWith("HTTP/1.1 400");
  }

  @Test
  void clientsOfVersionOneZeroAreServed() throws IOException {
    String host = fixture.web(ProxyFixture.WEB);
    String answer = fixture.ask("GET http://%s/chunked HTTP/1.0\r\n\r\n".formatted(host));
    assertThat(answer)
        .startsWith("HTTP/1.1 200")
        .contains("Connection: close")
        .doesNotContain("chunked")
        .endsWith("\r\n\r\nyou sent 0");
  }

  @Test
  void privateAddressesAreRefusedBeforeAnythingIsDialled() throws IOException {
    fixture
        .gate()
        .policy(
            Policy.NOTHING.withAllow(
                List.of(
                    Rule.parse("127.0.0.1:" + fixture.echoPort()),
                    Rule.parse("169.254.169.254"),
                    Rule.parse("[fd00:ec2::254]"))));
    assertThat(fixture.ask(absolute("127.0.0.1:" + fixture.echoPort())))
        .contains("egress_address", "loopback");
    assertThat(fixture.ask(absolute("169.254.169.254"))).contains("egress_address", "metadata");
    assertThat(fixture.ask(absolute("[fd00:ec2::254]"))).contains("egress_address", "unique local");
    assertThat(fixture.echoed).isEmpty();
  }

  private void post(Client client, int turn) throws IOException {
    String host = fixture.web(ProxyFixture.WEB);
    client.send(
        "POST http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 1\r\n\r\nx".formatted(host, host));
    assertThat(client.until("\r\n\r\n"))
        .as("request " + turn)
        .startsWith("HTTP/1.1 200")
        .doesNotContain("Connection: close");
    assertThat(client.text(10)).isEqualTo("you sent 1");
  }

  private static String absolute(String host) {
    return "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(host, host);
  }

  private String get(String path) {
    String host = fixture.web(ProxyFixture.WEB);
    return "GET http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(host, path, host);
  }
}
