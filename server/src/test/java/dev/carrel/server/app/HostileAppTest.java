package dev.carrel.server.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.LiveServer;
import dev.carrel.server.RawClient;
import dev.carrel.server.SharedServer;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.SandboxHosts.Place;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Apps that answer what no honest one would, and pages that ask what no honest one would. */
@ExtendWith(SharedServer.class)
@Timeout(60)
class HostileAppTest {
  private final LiveServer server;
  private String id = "";

  HostileAppTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    id = server.sandboxId();
  }

  private String send(String request) throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(request);
      return client.readAll();
    }
  }

  private String request(String method, ScriptedApp app, String path, String headers) {
    return method
        + " /app/"
        + id
        + "/"
        + app.port()
        + path
        + " HTTP/1.1\r\nHost: 127.0.0.1:"
        + server.port()
        + "\r\nAuthorization: Bearer "
        + LiveServer.ADA
        + "\r\n"
        + headers;
  }

  private String get(ScriptedApp app, String headers) throws IOException {
    return send(request("GET", app, "/dir/page", headers + "Connection: close\r\n\r\n"));
  }

  static Stream<String> badAnswers() {
    String ok = "HTTP/1.1 200 OK\r\n";
    return Stream.of(
        "",
        "hello",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 +20 OK\r\n\r\n",
        "HTTP/1.1 999 OK\r\n\r\n",
        ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ok + "Content-Length: -1\r\n\r\n",
        ok + "Content-Length: +5\r\n\r\nhello",
        ok + "Content-Length: 99999999999999999999\r\n\r\n",
        ok + "X-A: 1\r\n folded\r\n\r\n",
        ok + "X-A: a\0b\r\n\r\n",
        ok + "X-A: a\rX-B: b\r\n\r\n",
        ok + "X-A : 1\r\n\r\n",
        ok + ": 1\r\n\r\n",
        ok + "no colon\r\n\r\n",
        ok + "X-A: " + "a".repeat(70_000) + "\r\n\r\n",
        ok + "X-A: 1\r\n".repeat(300) + "\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(20) + ok + "\r\n",
        "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        ok + "Location: http://127.0.0.1\\@evil/\r\n\r\n",
        "HTTP/1.1 302 Go\r\nLocation: javascript:alert(1)\r\n\r\n");
  }

  @ParameterizedTest
  @MethodSource("badAnswers")
  void whatIsNotPlainlyHttpIsRefused(String answer) throws IOException {
    try (ScriptedApp app = ScriptedApp.saying(answer)) {
      assertThat(get(app, "")).startsWith("HTTP/1.1 502").contains("\"code\":\"app_failed\"");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 10\r\n\r\nshort",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello there\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"
      })
  void anAnswerThatEndsEarlyIsNotPassedOffAsWhole(String rest) throws IOException {
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 200 OK\r\n" + rest)) {
      String answer = get(app, "");
      assertThat(answer).startsWith("HTTP/1.1 200").doesNotEndWith("0\r\n\r\n");
    }
  }

  @Test
  void aBodyThatCannotBeReadIsNotWaitedFor() throws Exception {
    var gone = new CountDownLatch(1);
    try (ScriptedApp app =
            ScriptedApp.of(
                (in, out) -> {
                  in.transferTo(OutputStream.nullOutputStream());
                  gone.countDown();
                });
        var client = new RawClient(server.port())) {
      client.send(request("POST", app, "/", "Transfer-Encoding: chunked\r\n\r\n"));
      client.send("3\r\nabc\r\nzz\r\n");
      assertThat(client.readHead()).startsWith("HTTP/1.1 400");
      assertThat(gone.await(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aClientIsNotSentOnToAnotherPlaceOfThisServer() throws IOException {
    String here = "127.0.0.1:" + server.port();
    String base = "/app/" + id + "/";
    for (String place :
        new String[] {
          "http://" + here + "/api/v1/sandboxes",
          "//" + here + "/api/v1/sandboxes",
          "http://localhost:" + server.port() + "/api/v1/sandboxes",
          "http://LOCALHOST:" + server.port() + "/",
          "http://127.1.2.3:" + server.port() + "/",
          "http://x@" + here + "/api/v1/sandboxes",
          "http://x:y@" + here + "/api/v1/sandboxes",
          "http://example.com@" + here + "/api/v1/sandboxes",
          "http://127.1:" + server.port() + "/",
          "http://2130706433:" + server.port() + "/",
          "http://0x7f.1:" + server.port() + "/",
          "http://0x7f000001:" + server.port() + "/",
          "http://0177.0.0.1:" + server.port() + "/",
          "http://127.0.0.01:" + server.port() + "/",
          "http://%31%32%37.0.0.1:" + server.port() + "/",
          "http://localhost.:" + server.port() + "/",
          "http://any.localhost:" + server.port() + "/",
          "http://0.0.0.0:" + server.port() + "/",
          "http://[0:0::1]:" + server.port() + "/",
          "http://[::ffff:127.0.0.1]:" + server.port() + "/"
        }) {
      try (ScriptedApp app =
          ScriptedApp.saying("HTTP/1.1 307 Go\r\nLocation: " + place + "\r\n\r\n")) {
        assertThat(get(app, "")).as(place).startsWith("HTTP/1.1 502");
      }
    }
    String[][] kept = {
      {"/x?y#z", "/x?y#z"},
      {"../../../../api/v1/sandboxes", "/api/v1/sandboxes"},
      {"%2e%2e/%2E%2e/../x", "/x"},
      {"next", "/dir/next"},
      {"?q", "/dir/page?q"},
      {"/a/../../..", "/"}
    };
    for (String[] pair : kept) {
      try (ScriptedApp app =
          ScriptedApp.saying("HTTP/1.1 307 Go\r\nLocation: " + pair[0] + "\r\n\r\n")) {
        assertThat(get(app, ""))
            .as(pair[0])
            .containsIgnoringCase("location: " + base + app.port() + pair[1] + "\r\n");
      }
    }
  }

  @Test
  void redirectsToItselfAndToOthersWork() throws IOException {
    try (ScriptedApp app =
        ScriptedApp.saying("HTTP/1.1 302 Go\r\nLocation: https://example.com/a\r\n\r\n")) {
      assertThat(get(app, "")).containsIgnoringCase("location: https://example.com/a\r\n");
    }
    var itself = new AtomicInteger();
    try (ScriptedApp app =
        ScriptedApp.of(
            (in, out) ->
                out.write(
                    ("HTTP/1.1 302 Go\r\nLocation: http://localhost:"
                            + itself.get()
                            + "/a\r\nContent-Length: 0\r\n\r\n")
                        .getBytes(StandardCharsets.US_ASCII)))) {
      itself.set(app.port());
      assertThat(get(app, ""))
          .containsIgnoringCase("location: /app/" + id + "/" + app.port() + "/a\r\n");
    }
  }

  @Test
  void aClientIsNotSentOnToWhatItAskedOrToThePublicAddress() throws Exception {
    var target = new Target(new Place(new SandboxId(id), 80), "/app/x/80", "/", "", false);
    var address = new PublicAddress("https://Desk.example:8443/base");
    var locations = new Locations(address::isAt);
    for (String place : new String[] {"http://asked.example/api", "https://desk.example/api"}) {
      assertThatThrownBy(() -> locations.back(place, target, "Asked.example:81", false))
          .isInstanceOf(AppBrokeOff.class)
          .hasMessageContaining("of this server");
    }
    assertThat(locations.back("https://other.example", target, "asked.example", false))
        .isEqualTo("https://other.example");
    assertThat(locations.back("http://10.0.0.7/", target, "asked.example", false))
        .isEqualTo("http://10.0.0.7/");
    String forwarded = "http://asked.example/app/x/80/";
    assertThat(locations.back(forwarded + "a?b", target, "asked.example", false))
        .isEqualTo("/app/x/80/a?b");
    assertThatThrownBy(() -> locations.back(forwarded + "%2e./81", target, "asked.example", false))
        .isInstanceOf(AppBrokeOff.class);
  }

  @Test
  void aTokenInAHeaderOfOursIsNotSentOnToOthers() throws Exception {
    String elsewhere = "HTTP/1.1 302 Go\r\nLocation: https://example.com/a\r\n\r\n";
    String traffic = server.control().accessTokens().ofTraffic(new SandboxId(id));
    try (ScriptedApp app = ScriptedApp.saying(elsewhere)) {
      for (String header :
          new String[] {
            "X-Carrel-Token: " + LiveServer.ADA,
            "E2B-Traffic-Access-Token: " + traffic,
            "X-API-Key: " + LiveServer.ADA
          }) {
        assertThat(get(app, header + "\r\n"))
            .as(header)
            .startsWith("HTTP/1.1 502")
            .contains("another host");
        assertThat(ownGet(app, header)).as(header).startsWith("HTTP/1.1 502");
      }
      assertThat(ownGet(app, "X-Mine: 1")).containsIgnoringCase("location: https://example.com/a");
    }
    try (ScriptedApp app = ScriptedApp.saying(elsewhere.replace("https://example.com", ""))) {
      assertThat(get(app, "X-Carrel-Token: " + LiveServer.ADA + "\r\n"))
          .containsIgnoringCase("location: /app/" + id + "/" + app.port() + "/a\r\n");
      assertThat(ownGet(app, "X-Carrel-Token: " + LiveServer.ADA))
          .containsIgnoringCase("location: /a\r\n");
    }
  }

  @Test
  void slashesBeforeAPathLeadToNoOtherHost() throws Exception {
    var target = new Target(new Place(new SandboxId(id), 80), "", "/", "", true);
    var locations = new Locations(_ -> false);
    String own = "80-x.localhost";
    for (String place : new String[] {"///evil.example/a", "////evil.example/a"}) {
      assertThatThrownBy(() -> locations.back(place, target, own, true))
          .as(place)
          .isInstanceOf(AppBrokeOff.class)
          .hasMessageContaining("another host");
    }
    for (String place : new String[] {"http://localhost", "http://" + own}) {
      assertThat(locations.back(place + "//evil.example/a", target, own, true))
          .isEqualTo("/.//evil.example/a");
    }
  }

  private String ownGet(ScriptedApp app, String header) throws IOException {
    String host = app.port() + "-" + id + ".localhost:" + server.port();
    return send(
        "GET / HTTP/1.1\r\nHost: "
            + host
            + "\r\nAuthorization: Bearer "
            + LiveServer.ADA
            + "\r\n"
            + header
            + "\r\nConnection: close\r\n\r\n");
  }

  @Test
  void onTheSharedOriginAPageIsHeldAndSpeaksOnlyForItself() throws IOException {
    try (ScriptedApp app =
        ScriptedApp.saying(
            """
            HTTP/1.1 200 OK
            Content-Security-Policy: default-src 'self'
            Clear-Site-Data: "*"
            Service-Worker-Allowed: /
            Alt-Svc: h2=":1"
            Strict-Transport-Security: max-age=9
            Access-Control-Allow-Origin: *
            X-Private: 1
            Connection: X-Private
            X-Kept: 1
            Content-Length: 0

            """)) {
      assertThat(get(app, ""))
          .containsIgnoringCase("content-security-policy: default-src 'self'")
          .contains("sandbox allow-scripts allow-forms")
          .doesNotContain("allow-same-origin")
          .containsIgnoringCase("x-kept: 1")
          .doesNotContainIgnoringCase("clear-site-data")
          .doesNotContainIgnoringCase("service-worker-allowed")
          .doesNotContainIgnoringCase("alt-svc")
          .doesNotContainIgnoringCase("strict-transport")
          .doesNotContainIgnoringCase("access-control")
          .doesNotContainIgnoringCase("x-private");
    }
  }

  @Test
  void itsCookiesReachItAloneAndNobodyElsesReachIt() throws Exception {
    try (ScriptedApp app =
        ScriptedApp.saying(
            """
            HTTP/1.1 200 OK
            Set-Cookie: sid=1; Path=/; Domain=localhost; HttpOnly
            Set-Cookie: __Host-x=2; path=/deep; Secure
            Set-Cookie: bad name=1
            Set-Cookie: novalue
            Set-Cookie: p=1; Path=relative
            Content-Length: 0

            """)) {
      String base = "/app/" + id + "/" + app.port();
      String answer = get(app, "Cookie: jupyter=secret; carrel-app-sid=1; carrel-app=x.y\r\n");
      assertThat(answer)
          .contains("Set-Cookie: carrel-app-sid=1; HttpOnly; Path=" + base + "/\r\n")
          .contains("Set-Cookie: carrel-app-__Host-x=2; Secure; Path=" + base + "/deep\r\n")
          .contains("Set-Cookie: carrel-app-p=1; Path=" + base + "/\r\n")
          .doesNotContain("bad name")
          .doesNotContain("novalue")
          .doesNotContainIgnoringCase("domain=");
      assertThat(app.head()).contains("Cookie: sid=1\r\n").doesNotContain("jupyter");
    }
  }

  @Test
  void noTokenOfOursReachesAnApp() throws Exception {
    String key =
        server
            .control()
            .apiKeys()
            .issue(Caller.user("acme", "ada"), "k", Caller.user("acme", "ada"))
            .secret();
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 204 No\r\n\r\n")) {
      get(
          app,
          "X-Carrel-Token: "
              + LiveServer.ADA
              + "\r\nX-API-Key: "
              + key
              + "\r\nX-Access-Token: mine\r\nProxy-Authorization: Basic eA==\r\n"
              + "E2B-Other: 1\r\nReferer: http://127.0.0.1/app/x/~secret/\r\n"
              + "X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n");
      assertThat(app.head())
          .doesNotContain(LiveServer.ADA)
          .doesNotContain(key)
          .doesNotContainIgnoringCase("proxy-authorization")
          .doesNotContainIgnoringCase("referer")
          .doesNotContain("6.6.6.6")
          .containsIgnoringCase("x-access-token: mine");
    }
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 204 No\r\n\r\n")) {
      String own = "Basic YWRhOmFkYQ==";
      send(
          request("GET", app, "/", "X-Carrel-Token: " + LiveServer.ADA + "\r\n")
                  .replace("Bearer " + LiveServer.ADA, own)
              + "Connection: close\r\n\r\n");
      assertThat(app.head()).contains(own).doesNotContain(LiveServer.ADA);
    }
  }

  static Stream<String> ambiguousRequests() {
    return Stream.of(
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 5,5\r\n\r\nhello",
        "Content-Length: +5\r\n\r\nhello",
        "Content-Length: 0x5\r\n\r\nhello",
        "X-A: 1\r\n folded: 2\r\n\r\n",
        "X-A: a\0b\r\n\r\n",
        "X-A: a\rb\r\n\r\n");
  }

  @ParameterizedTest
  @MethodSource("ambiguousRequests")
  void aRequestThatCanBeReadInTwoWaysReachesNobody(String rest) throws Exception {
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 200 OK\r\n\r\nreached")) {
      String smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
      assertThat(send(request("POST", app, "/", rest + smuggled)))
          .doesNotContain("reached")
          .startsWith("HTTP/1.1 400");
      assertThat(app.untouched()).isTrue();
    }
  }

  @Test
  void aRequestWrittenIntoABodyStaysABody() throws Exception {
    String inner = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    try (ScriptedApp app =
        ScriptedApp.of(
            (in, out) -> {
              in.readNBytes(inner.length());
              out.write(
                  "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 Forged\r\n\r\n"
                      .getBytes(StandardCharsets.US_ASCII));
            })) {
      String answer =
          send(
              request(
                  "POST",
                  app,
                  "/",
                  "Content-Length: " + inner.length() + "\r\nConnection: close\r\n\r\n" + inner));
      assertThat(answer).startsWith("HTTP/1.1 204").doesNotContain("Forged");
      assertThat(app.head()).startsWith("POST / ");
      assertThat(app.untouched()).isTrue();
    }
  }

  @Test
  void methodsThatAreNotForAppsAreRefused() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 200 OK\r\n\r\nreached")) {
      assertThat(send(request("TRACE", app, "/", "Connection: close\r\n\r\n")))
          .startsWith("HTTP/1.1 4");
      assertThat(app.untouched()).isTrue();
    }
  }

  @Test
  void anExpiredLinkIsNoLink() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 200 OK\r\n\r\nreached")) {
      var sandbox = new SandboxId(id);
      Instant past = Instant.now().minus(Duration.ofSeconds(2));
      Instant later = Instant.now().plus(Duration.ofHours(1));
      var tokens = server.control().accessTokens();
      String over = tokens.ofPort(sandbox, app.port(), past);
      String good = tokens.ofPort(sandbox, app.port(), later);
      String longer = later.plusSeconds(9).getEpochSecond() + good.substring(good.indexOf('.'));
      String base = "GET /app/" + id + "/" + app.port() + "/~";
      String end = "/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
      assertThat(send(base + over + end)).startsWith("HTTP/1.1 401").contains("time is over");
      assertThat(send(base + longer + end)).startsWith("HTTP/1.1 401");
      assertThat(send(base + good + end)).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void aHeldPageMayCallItsOwnAppAndNothingElse() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")) {
      String path =
          server
              .post("/api/v1/sandboxes/" + id + "/ports/" + app.port() + "/link", "{}")
              .json()
              .get("path")
              .asText();
      String end = " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nOrigin: ";
      assertThat(send("GET " + path + end + "null\r\n\r\n"))
          .startsWith("HTTP/1.1 200")
          .containsIgnoringCase("access-control-allow-origin: null");
      assertThat(
              send(
                  "OPTIONS "
                      + path
                      + end
                      + "null\r\nAccess-Control-Request-Method: PUT\r\n"
                      + "Access-Control-Request-Headers: content-type\r\n\r\n"))
          .startsWith("HTTP/1.1 204")
          .containsIgnoringCase("access-control-allow-methods: PUT");
      assertThat(send("GET " + path + end + "http://evil.example\r\n\r\n"))
          .startsWith("HTTP/1.1 403");
      assertThat(send("GET /api/v1/sandboxes" + end + "null\r\n\r\n")).startsWith("HTTP/1.1 403");
      assertThat(get(app, "Origin: null\r\n")).startsWith("HTTP/1.1 403");
    }
  }

  @Test
  void aPageOfAnotherSiteCannotUseTheCookie() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")) {
      String cookie =
          server
              .control()
              .accessTokens()
              .ofPort(new SandboxId(id), app.port(), Instant.now().plusSeconds(600));
      String host = app.port() + "-" + id + ".localhost:" + server.port();
      String head =
          "GET / HTTP/1.1\r\nHost: "
              + host
              + "\r\nCookie: carrel-app="
              + cookie
              + "\r\nConnection: close\r\n";
      assertThat(send(head + "\r\n")).startsWith("HTTP/1.1 200");
      assertThat(send(head + "Sec-Fetch-Site: same-origin\r\n\r\n")).startsWith("HTTP/1.1 200");
      assertThat(send(head + "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n"))
          .startsWith("HTTP/1.1 403");
      assertThat(send(head + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n"))
          .startsWith("HTTP/1.1 200");
      assertThat(send(head + "Origin: http://1-" + id + ".localhost:1\r\n\r\n"))
          .startsWith("HTTP/1.1 403");
      assertThat(send(head.replace(host, "1-" + id + ".localhost") + "\r\n"))
          .startsWith("HTTP/1.1 401");
      assertThat(send(head.replace("carrel-app=", "carrel-app=1.x; carrel-app=") + "\r\n"))
          .startsWith("HTTP/1.1 200");
    }
  }
}
