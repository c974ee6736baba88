package dev.carrel.control.web;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.egress.AddressRange;
import dev.carrel.egress.EgressSettings;
import dev.carrel.egress.Host;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.zip.GZIPOutputStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pages of a server on this host that only this test opens. Also case C07. */
@SuppressWarnings("NullAway") // set before each test
class WebIT {
  private static final String SITE = "site.example.net";
  private static final String OTHER = "other.example.net";
  private static final String DUCK = "duck.example.net";
  private static final String MOJEEK = "mojeek.example.net";

  private final List<String> reached = new CopyOnWriteArrayList<>();
  private HttpServer server;
  private ControlFixture fixture;
  private Web web;
  private @Nullable SandboxId reader;

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    fixture = new ControlFixture(this::settings);
    web = fixture.control().web();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
    server.stop(0);
  }

  private ControlSettings settings(ControlSettings usual) {
    List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
    Map<Host, List<InetAddress>> pinned =
        Map.of(
            Host.parse(SITE),
            here,
            Host.parse(OTHER),
            here,
            Host.parse(DUCK),
            here,
            Host.parse(MOJEEK),
            here);
    List<AddressRange> ranges = List.of(AddressRange.parse("127.0.0.0/8"));
    EgressSettings proxy =
        usual.network().proxy().withPinned(pinned).withPrivate(List.of(), ranges);
    return usual
        .withNetwork(usual.network().withProxy(proxy))
        .withWeb(
            new WebSettings(
                true,
                List.of(
                    new WebSettings.Provider("duckduckgo", url(DUCK, "/html/")),
                    new WebSettings.Provider("mojeek", url(MOJEEK, "/search"))),
                200_000,
                5_000));
  }

  private String url(String host, String path) {
    return "http://" + host + ":" + server.getAddress().getPort() + path;
  }

  private void answer(HttpExchange exchange) throws IOException {
    String host = exchange.getRequestHeaders().getFirst("Host").replaceFirst(":.*", "");
    String path = exchange.getRequestURI().toString();
    reached.add(host + path);
    switch (path) {
      case "/moved" -> redirect(exchange, "/page");
      case "/elsewhere" -> redirect(exchange, url(OTHER, "/page"));
      case "/inward" -> redirect(exchange, "http://169.254.169.254/latest/meta-data/");
      case "/round" -> redirect(exchange, "/round");
      case "/picture" -> send(exchange, 200, "image/png", new byte[] {1, 2, 3});
      case "/long" ->
          send(
              exchange,
              200,
              "text/plain",
              "long ".repeat(100_000).getBytes(StandardCharsets.UTF_8));
      case "/bomb" -> {
        exchange.getResponseHeaders().add("Content-Encoding", "gzip");
        send(exchange, 200, "text/plain", zipped(50_000_000));
      }
      case "/html/?q=down" -> send(exchange, 500, "text/html", new byte[0]);
      case "/html/?q=rare", "/html/?q=half" ->
          send(exchange, 200, "text/html", "<p class='no-results'>None".getBytes(UTF_8));
      case "/search?q=rare" ->
          send(exchange, 200, "text/html", "<ul class='results-standard'>".getBytes(UTF_8));
      case "/html/?q=robot", "/search?q=robot" ->
          send(exchange, 200, "text/html", "<p>Are you human?".getBytes(UTF_8));
      default ->
          send(
              exchange,
              200,
              "text/html; charset=utf-8",
              page(host).getBytes(StandardCharsets.UTF_8));
    }
  }

  private static String page(String host) {
    return switch (host) {
      case DUCK ->
          """
          <div class="result result--ad"><a class="result__a" href="https://ad.example/">Ad</a></div>
          <div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fdocs.example.org%2Fa%3Fb&rut=x">One</a>
            <a class="result__snippet">about <b>one</b></a></div>
          <div class="result"><a class="result__a" href="javascript:alert(1)">Bad</a></div>
          <div class="result"><a class="result__a" href="https://blog.example.com/">Two</a></div>
          """;
      case MOJEEK ->
          "<ul class='results-standard'><li><h2><a class='title' href='https://m.example/'>Moj</a></h2><p class='s'>eek</p></li></ul>";
      default -> "<title>T</title><h1>Head</h1><p>Words <a href='/x'>there</a></p>";
    };
  }

  private static void redirect(HttpExchange exchange, String to) throws IOException {
    exchange.getResponseHeaders().add("Location", to);
    send(exchange, 302, "text/html", new byte[0]);
  }

  private static void send(HttpExchange exchange, int status, String type, byte[] body)
      throws IOException {
    exchange.getResponseHeaders().add("Content-Type", type);
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    try (exchange) {
      exchange.getResponseBody().write(body);
    } catch (IOException e) {
      // The reader has enough: that is what some tests are about.
      reachedEnd(e);
    }
  }

  private static void reachedEnd(IOException broken) {
    assertThat(broken).hasMessageMatching("(?s).*(Broken pipe|reset|closed|insufficient).*");
  }

  private static byte[] zipped(int size) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new GZIPOutputStream(bytes)) {
      zip.write(new byte[size]);
    }
    return bytes.toByteArray();
  }

  /** For a sandbox that may read this server's pages: they are not on the internet. */
  private Fetched fetch(String url) throws InterruptedException {
    return web.fetch(ALICE, reader(), url, false);
  }

  private SandboxId reader() {
    if (reader == null) {
      reader = fixture.sandbox().id();
      fixture.control().egress().set(ALICE, reader, allowed(SITE));
    }
    return reader;
  }

  private Policy allowed(String host) {
    return Policy.NOTHING.withAllow(
        List.of(Rule.parse(host + ":" + server.getAddress().getPort())));
  }

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }

  @Test
  void aPageIsReadOnceAndThenRemembered() throws Exception {
    Fetched page = fetch(url(SITE, "/page"));
    assertThat(page.title()).isEqualTo("T");
    assertThat(page.text()).isEqualTo("# Head\n\nWords [there](" + url(SITE, "/x") + ")");
    assertThat(page.cached()).isFalse();
    assertThat(fetch(url(SITE, "/page")).cached()).isTrue();
    assertThat(web.fetch(ALICE, reader(), url(SITE, "/page"), true).cached()).isFalse();
    assertThat(reached).containsExactly(SITE + "/page", SITE + "/page");
  }

  @Test
  void redirectsAreFollowedWithinAHostAndToldBeyondIt() throws Exception {
    assertThat(fetch(url(SITE, "/moved")).uri().toString()).isEqualTo(url(SITE, "/page"));
    Fetched away = fetch(url(SITE, "/elsewhere"));
    assertThat(away.redirect()).hasToString(url(OTHER, "/page"));
    assertThat(away.text()).isEmpty();
    assertThat(reached).doesNotContain(OTHER + "/page");
    refused(ErrorCode.WEB_FAILED, () -> fetch(url(SITE, "/round")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://127.0.0.1:PORT/page",
        "http://localhost:PORT/page",
        "http://[::1]:PORT/page",
        "http://0x7f.1:PORT/page",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[fd00:ec2::254]/"
      })
  void c07NothingButTheInternetIsFetched(String url) {
    String target = url.replace("PORT", Integer.toString(server.getAddress().getPort()));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> web.fetch(ALICE, null, target, false))
        .satisfies(
            e ->
                assertThat(e.code())
                    .isIn(ErrorCode.EGRESS_DENIED, ErrorCode.WEB_FAILED, ErrorCode.INVALID_INPUT));
    assertThat(reached).isEmpty();
  }

  @Test
  void c07ARedirectInwardIsNotFollowed() throws Exception {
    assertThat(fetch(url(SITE, "/inward")).redirect()).hasHost("169.254.169.254");
    refused(
        ErrorCode.EGRESS_DENIED,
        () -> web.fetch(ALICE, null, "http://169.254.169.254/latest/meta-data/", false));
  }

  @Test
  void c07WhatTheOperatorOpensIsOpenToPoliciesThatNameIt() throws Exception {
    for (String host : List.of(SITE, DUCK, "127.0.0.1")) {
      refused(ErrorCode.EGRESS_DENIED, () -> web.fetch(ALICE, null, url(host, "/page"), false));
    }
    assertThat(reached).isEmpty();
    assertThat(fetch(url(SITE, "/page")).status()).isEqualTo(200);
    fixture.control().egress().set(ALICE, reader(), allowed("127.0.0.1"));
    assertThat(fetch(url("127.0.0.1", "/page")).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"file:///etc/passwd", "ftp://site.example.net/", "/page", "http://", "a b"})
  void onlyTheWebIsFetched(String url) {
    refused(ErrorCode.INVALID_INPUT, () -> fetch(url));
  }

  @Test
  void forASandboxItsOwnPolicyHolds() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    SandboxId id = sandbox.id();
    // What another may read and has read does not help a sandbox that may not.
    fetch(url(SITE, "/page"));
    refused(ErrorCode.EGRESS_DENIED, () -> web.fetch(ALICE, id, url(SITE, "/page"), false));
    fixture.control().egress().set(ALICE, id, allowed(SITE));
    assertThat(web.fetch(ALICE, id, url(SITE, "/page"), false).title()).isEqualTo("T");
    fixture.control().egress().set(ALICE, id, Policy.NOTHING);
    refused(ErrorCode.EGRESS_DENIED, () -> web.fetch(ALICE, id, url(SITE, "/page"), false));
    refused(ErrorCode.SANDBOX_NOT_FOUND, () -> web.fetch(MALLORY, id, url(SITE, "/page"), false));
    assertThat(fixture.control().egress().show(ALICE, id).received()).isPositive();
  }

  @Test
  void bodiesAreBounded() throws Exception {
    Fetched page = fetch(url(SITE, "/long"));
    assertThat(page.text()).hasSize(5_000);
    assertThat(page.cut()).isTrue();
    assertThat(fetch(url(SITE, "/bomb")).cut()).isTrue();
    refused(ErrorCode.WEB_FAILED, () -> fetch(url(SITE, "/picture")));
  }

  @Test
  void searchesAskOneAfterTheOther() throws Exception {
    Found found = search("words", List.of(), List.of());
    assertThat(found.provider()).isEqualTo("duckduckgo");
    assertThat(found.hits())
        .containsExactly(
            new Found.Hit("One", "https://docs.example.org/a?b", "about one"),
            new Found.Hit("Two", "https://blog.example.com/", ""));
    assertThat(search("words", List.of(), List.of()).hits())
        .as("the next one's turn")
        .containsExactly(new Found.Hit("Moj", "https://m.example/", "eek"));
    assertThat(search("words", List.of("example.org"), List.of()).hits()).hasSize(1);
    assertThat(search("down", List.of(), List.of()).provider()).isEqualTo("mojeek");
    refused(ErrorCode.INVALID_INPUT, () -> search("x", List.of(), List.of()));
  }

  @Test
  void findingNothingIsNoFailure() throws Exception {
    assertThat(search("words", List.of("nowhere.example"), List.of()).hits()).isEmpty();
    assertThat(search("rare", List.of(), List.of()).hits()).isEmpty();
    assertThat(search("half", List.of(), List.of()).hits())
        .as("one finds nothing, and the other is asked")
        .hasSize(1);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> search("robot", List.of(), List.of()))
        .withMessageContaining("duckduckgo: answered with no list of results")
        .withMessageContaining("mojeek");
  }

  @Test
  void providersAreToldWhichHostsAreWanted() throws Exception {
    search("words", List.of("example.org", "m.example"), List.of("blog.example.org"));
    assertThat(reached.getLast())
        .contains("q=words+site%3Aexample.org+OR+site%3Am.example+-site%3Ablog.example.org");
    search("words", List.of("a.example OR b"), List.of());
    assertThat(reached.getLast()).as("what is no host").contains("q=words").doesNotContain("site");
  }

  private Found search(String words, List<String> only, @Nullable List<String> not)
      throws InterruptedException {
    return web.search(
        ALICE, null, new SearchRequest(words, only, not == null ? List.of() : not, 5, ""));
  }
}
