package dev.carrel.server.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.RawClient;
import dev.carrel.server.SharedServer;
import dev.carrel.server.http.WebSocket;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class AppsTest {
  private static final String HELLO =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

  private final LiveServer server;
  private String id = "";

  AppsTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    id = server.sandboxId();
  }

  private String app(ScriptedApp app) {
    return "/app/" + id + "/" + app.port();
  }

  private JsonNode link(ScriptedApp app) {
    return server.post("/api/v1/sandboxes/" + id + "/ports/" + app.port() + "/link", "{}").json();
  }

  private static String bearer() {
    return "Authorization: Bearer " + LiveServer.ADA + "\r\n";
  }

  private String ask(String head) throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(head + "Connection: close\r\n\r\n");
      return client.readAll();
    }
  }

  private String get(String path, String headers) throws IOException {
    return ask("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers);
  }

  private String ownHost(ScriptedApp app) {
    return app.port() + "-" + id + ".localhost:" + server.port();
  }

  @Test
  void aRequestReachesTheAppWithoutItsPrefixAndWithWhatIsKnownOfItsWay() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying(HELLO)) {
      String answer = get(app(app) + "/a%2Fb/../c?x=1&y=%20", bearer() + "X-Mine: 1\r\n");
      assertThat(answer).startsWith("HTTP/1.1 200").endsWith("hello");
      assertThat(app.head())
          .startsWith("GET /a%2Fb/../c?x=1&y=%20 HTTP/1.1\r\n")
          .contains("Host: localhost:" + app.port() + "\r\n")
          .contains("X-Forwarded-For: 127.0.0.1\r\n")
          .contains("X-Forwarded-Host: 127.0.0.1\r\n")
          .contains("X-Forwarded-Proto: http\r\n")
          .contains("X-Forwarded-Prefix: " + app(app) + "\r\n")
          .containsIgnoringCase("x-mine: 1\r\n")
          .contains("Connection: close\r\n");
    }
  }

  @Test
  void everyMethodGoesThroughWithItsBody() throws Exception {
    try (ScriptedApp app =
        ScriptedApp.of(
            (in, out) -> {
              byte[] body = in.readNBytes(5);
              out.write(
                  "HTTP/1.1 201 Made\r\nContent-Length: 5\r\n\r\n"
                      .getBytes(StandardCharsets.US_ASCII));
              out.write(body);
            })) {
      for (String method : new String[] {"POST", "PUT", "PATCH", "DELETE", "PROPFIND"}) {
        String answer =
            ask(
                method
                    + " "
                    + app(app)
                    + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    + bearer()
                    + "Content-Length: 5\r\nConnection: close\r\n\r\nhello");
        assertThat(answer).as(method).startsWith("HTTP/1.1 201").endsWith("hello");
        assertThat(app.head()).startsWith(method + " / ").contains("Content-Length: 5\r\n");
      }
    }
  }

  @Test
  void anAnswerIsPassedOnAsItComes() throws Exception {
    var headSeen = new CountDownLatch(1);
    var seen = new CountDownLatch(1);
    try (ScriptedApp app =
            ScriptedApp.of(
                (in, out) -> {
                  out.write(
                      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                          .getBytes(StandardCharsets.US_ASCII));
                  out.flush();
                  headSeen.await(30, TimeUnit.SECONDS);
                  out.write("data: one\n\n".getBytes(StandardCharsets.US_ASCII));
                  out.flush();
                  seen.await(30, TimeUnit.SECONDS);
                  out.write("data: two\n\n".getBytes(StandardCharsets.US_ASCII));
                });
        var client = new RawClient(server.port())) {
      client.send("GET " + app(app) + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer() + "\r\n");
      assertThat(client.readHead()).contains("text/event-stream");
      headSeen.countDown();
      assertThat(client.readUntil("data: one\n\n")).contains("data: one");
      seen.countDown();
      assertThat(client.readUntil("data: two\n\n")).contains("data: two");
    }
  }

  @Test
  void aRequestIsPassedOnAsItComes() throws Exception {
    try (ScriptedApp app =
            ScriptedApp.of(
                (in, out) -> {
                  out.write("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                  byte[] piece = new byte[64];
                  for (int n; (n = in.read(piece)) >= 0; ) {
                    // In one piece: what is between two is the framing of the answer.
                    String said = new String(piece, 0, n, StandardCharsets.US_ASCII);
                    out.write(said.toUpperCase(Locale.ROOT).getBytes(StandardCharsets.US_ASCII));
                    out.flush();
                  }
                });
        var client = new RawClient(server.port())) {
      client.send(
          "POST "
              + app(app)
              + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
              + bearer()
              + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
      assertThat(client.readUntil("ABC")).contains("ABC");
      client.send("3\r\nxyz\r\n0\r\n\r\n");
      assertThat(client.readUntil("XYZ")).contains("XYZ");
    }
  }

  @Test
  void aConnectionServesOneShortAnswerAfterAnother() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying(HELLO);
        var client = new RawClient(server.port())) {
      for (int i = 0; i < 3; i++) {
        client.send("GET " + app(app) + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer() + "\r\n");
        assertThat(client.readUntil("hello")).contains("200");
      }
    }
  }

  @Test
  void aWebSocketIsJoinedToTheApp() throws Exception {
    String key = "dGhlIHNhbXBsZSBub25jZQ==";
    try (ScriptedApp app =
            ScriptedApp.of(
                (in, out) -> {
                  out.write(
                      ("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              + "Sec-WebSocket-Accept: "
                              + WebSocket.accept(key)
                              + "\r\nSec-WebSocket-Protocol: chat\r\n\r\n")
                          .getBytes(StandardCharsets.US_ASCII));
                  in.transferTo(out);
                });
        var client = new RawClient(server.port())) {
      client.send(
          "GET "
              + app(app)
              + "/ws HTTP/1.1\r\nHost: 127.0.0.1\r\n"
              + bearer()
              + "Origin: http://127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Key: "
              + key
              + "\r\n\r\n");
      assertThat(client.readHead())
          .startsWith("HTTP/1.1 101")
          .contains("Sec-WebSocket-Protocol: chat");
      client.send("any bytes");
      assertThat(client.read(9)).isEqualTo("any bytes");
      assertThat(app.head())
          .contains("Upgrade: websocket\r\n")
          .contains("Origin: http://localhost:" + app.port() + "\r\n");
    }
  }

  @Test
  void whenTheClientLeavesTheAppIsToldSo() throws Exception {
    var ended = new CountDownLatch(1);
    try (ScriptedApp app =
        ScriptedApp.of(
            (in, out) -> {
              out.write("HTTP/1.1 200 OK\r\n\r\nfirst".getBytes(StandardCharsets.US_ASCII));
              out.flush();
              if (in.read() < 0) {
                ended.countDown();
              }
            })) {
      try (var client = new RawClient(server.port())) {
        client.send("GET " + app(app) + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer() + "\r\n");
        client.readUntil("first");
      }
      assertThat(ended.await(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aPortThatNobodyListensOnSaysWhatToDo() throws Exception {
    // Bound and not listened on: nobody else can take the port meanwhile.
    try (var silent = new Socket()) {
      silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      String path = "/app/" + id + "/" + silent.getLocalPort() + "/";
      assertThat(get(path, bearer()))
          .startsWith("HTTP/1.1 502")
          .contains("\"code\":\"port_closed\"")
          .contains("start a server there");
      assertThat(get(path, bearer() + "Accept: text/html,*/*\r\n"))
          .startsWith("HTTP/1.1 502")
          .contains("text/html")
          .contains("<h1>nothing listens on port " + silent.getLocalPort());
    }
  }

  @Test
  void withoutATokenNothingIsToldOrReached() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying(HELLO)) {
      assertThat(get(app(app) + "/", "")).startsWith("HTTP/1.1 401");
      assertThat(get("/app/nonsense/1/", "")).startsWith("HTTP/1.1 401");
      assertThat(get("/app/sbaaaaaaaaaaaaaa/1/", "")).startsWith("HTTP/1.1 401");
      assertThat(get(app(app) + "/", "Authorization: Bearer " + LiveServer.BOB + "\r\n"))
          .startsWith("HTTP/1.1 404");
      assertThat(app.untouched()).isTrue();
    }
  }

  @Test
  void theWayWithoutASlashLeadsToTheOneWith() throws Exception {
    assertThat(get("/app/" + id + "/8000?a=1", bearer()))
        .startsWith("HTTP/1.1 308")
        .containsIgnoringCase("location: /app/" + id + "/8000/?a=1\r\n");
  }

  @Test
  void aLinkOpensItsPortAndNothingElse() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying(HELLO);
        ScriptedApp other = ScriptedApp.saying(HELLO)) {
      JsonNode link = link(app);
      String path = link.get("path").asText();
      assertThat(link.get("url").asText()).isEqualTo(server.uri(path).toString());
      assertThat(get(path + "x", "")).startsWith("HTTP/1.1 200").endsWith("hello");
      assertThat(app.head())
          .startsWith("GET /x HTTP/1.1")
          .contains("X-Forwarded-Prefix: " + path.substring(0, path.length() - 1) + "\r\n");
      String token = path.substring(path.indexOf('~'));
      assertThat(get(app(other) + "/" + token, "")).startsWith("HTTP/1.1 401");
      String elsewhere = "/app/" + server.sandboxId() + "/" + app.port() + "/" + token;
      assertThat(get(elsewhere, "")).startsWith("HTTP/1.1 401");
      String forged = path.replace(token.substring(1, 3), "99");
      assertThat(get(forged, "")).startsWith("HTTP/1.1 401");
      assertThat(
              get(
                  "/api/v1/sandboxes/" + id,
                  "Authorization: Bearer " + token.substring(1, 50) + "\r\n"))
          .startsWith("HTTP/1.1 401");
      assertThat(other.untouched()).isTrue();
      assertThat(app.untouched()).isTrue();
    }
  }

  @Test
  void aBrowserIsLedToTheAppsOwnOriginWhereACookieLetsItIn() throws Exception {
    try (ScriptedApp app = ScriptedApp.saying(HELLO)) {
      String path = link(app).get("path").asText();
      String navigating =
          "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
      String own = ownHost(app);
      String led =
          ask(
              "GET "
                  + path
                  + "a?b=1 HTTP/1.1\r\nHost: localhost:"
                  + server.port()
                  + "\r\n"
                  + navigating);
      assertThat(led).startsWith("HTTP/1.1 303").containsIgnoringCase("location: http://" + own);
      String there = led.replaceAll("(?s).*[Ll]ocation: http://[^/]*(/[^\r]*)\r.*", "$1");
      assertThat(there).startsWith("/a?b=1&carrel-link=");
      String let = ask("GET " + there + " HTTP/1.1\r\nHost: " + own + "\r\n" + navigating);
      assertThat(let)
          .startsWith("HTTP/1.1 303")
          .containsIgnoringCase("location: /a?b=1\r\n")
          .contains("; Path=/; HttpOnly; SameSite=Lax; Max-Age=");
      assertThat(app.untouched()).isTrue();
      String cookie = let.replaceAll("(?s).*Set-Cookie: ([^;]*);.*", "$1");
      String in =
          ask("GET /a HTTP/1.1\r\nHost: " + own + "\r\nCookie: x=1; " + cookie + "; y=2\r\n");
      assertThat(in).startsWith("HTTP/1.1 200").doesNotContain("Content-Security-Policy");
      assertThat(app.head())
          .contains("Cookie: x=1; y=2\r\n")
          .doesNotContain("carrel-app")
          .doesNotContain("X-Forwarded-Prefix");
      assertThat(ask("GET /a HTTP/1.1\r\nHost: " + own + "\r\n")).startsWith("HTTP/1.1 401");
    }
  }
}
