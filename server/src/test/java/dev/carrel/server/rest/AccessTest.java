package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.RawClient;
import dev.carrel.server.SharedServer;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Route;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(SharedServer.class)
class AccessTest {
  private final LiveServer server;

  AccessTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void everyRouteButHealthAndDocsWantsAToken() {
    var router = new Router();
    new RestApi(server.control(), _ -> Optional.empty(), new PublicAddress("")).addTo(router);
    for (Route route : router.routes()) {
      if (route.access() == Route.Access.OPEN) {
        continue;
      }
      String path =
          route.template().replace("{path...}", "a").replaceAll("\\{\\w+}", "sbaaaaaaaaaaaaaa");
      Answer answer =
          server.send(
              HttpRequest.newBuilder(server.uri(path))
                  .method(route.method(), BodyPublishers.noBody())
                  .build());
      assertThat(answer.status()).as(route.toString()).isEqualTo(401);
      assertThat(answer.header("WWW-Authenticate")).startsWith("Bearer");
      if (!route.method().equals("HEAD")) {
        assertThat(answer.header("Content-Type")).isEqualTo("application/problem+json");
        assertThat(answer.code()).isEqualTo("unauthenticated");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Bearer wrong-token-0123456789",
        "Bearer ",
        "Bearer",
        "Basic YWRhOnB3",
        LiveServer.ADA,
        "Bearer " + LiveServer.ADA + "x"
      })
  void aBadTokenIsRefused(String authorization) {
    Answer answer =
        server.send(
            HttpRequest.newBuilder(server.uri("/api/v1/sandboxes"))
                .header("Authorization", authorization)
                .build());
    assertThat(answer.status()).isEqualTo(401);
    assertThat(answer.text()).doesNotContain(LiveServer.ADA);
  }

  @Test
  void withoutATokenNobodyLearnsWhatThereIs() {
    Answer answer = server.send(HttpRequest.newBuilder(server.uri("/nothing/here")).build());
    assertThat(answer.status()).isEqualTo(401);
  }

  @Test
  void healthAndDocsAreOpen() {
    Answer health = server.send(HttpRequest.newBuilder(server.uri("/health")).build());
    assertThat(health.status()).isEqualTo(200);
    assertThat(health.json().get("version").asText()).matches("\\d+\\.\\d+\\.\\d+.*");
    Answer page = server.send(HttpRequest.newBuilder(server.uri("/docs")).build());
    assertThat(page.header("Content-Security-Policy")).contains("default-src 'none'");
    assertThat(page.text()).doesNotContain("http://", "https://", "<script>");
    for (String asset :
        new String[] {"start.js", "page.css", "swagger-ui.css", "swagger-ui-bundle.js"}) {
      Answer file = server.send(HttpRequest.newBuilder(server.uri("/docs/" + asset)).build());
      assertThat(file.status()).as(asset).isEqualTo(200);
      assertThat(file.header("X-Content-Type-Options")).isEqualTo("nosniff");
    }
    assertThat(
            server
                .send(HttpRequest.newBuilder(server.uri("/docs/..%2Fopenapi.yaml")).build())
                .status())
        .isEqualTo(404);
  }

  @Test
  void theBareAddressLeadsToTheDocsAndToNothingElse() throws IOException {
    for (String path : new String[] {"/", "/docs/", "/?token=x"}) {
      for (String method : new String[] {"GET", "HEAD"}) {
        assertThat(head(method + " " + path + " HTTP/1.1\r\nHost: localhost"))
            .startsWith("HTTP/1.1 302")
            .contains("Location: /docs\r\n");
      }
      assertThat(head("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0"))
          .startsWith("HTTP/1.1 401");
    }
    assertThat(head("GET / HTTP/1.1\r\nHost: evil.example")).startsWith("HTTP/1.1 403");
    assertThat(head("GET // HTTP/1.1\r\nHost: localhost")).startsWith("HTTP/1.1 401");
  }

  @Test
  void unknownPathsAndMethodsAreProblems() {
    Answer unknown = server.get("/api/v1/nothing");
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.code()).isEqualTo("not_found");
    Answer method = server.delete("/api/v1/sandboxes");
    assertThat(method.status()).isEqualTo(405);
    assertThat(method.header("Allow")).isEqualTo("GET, HEAD, POST");
    assertThat(method.code()).isEqualTo("method_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/health",
        "/docs",
        "/metrics",
        "/api/v1/sandboxes",
        "/api/v1/openapi.json",
        "/api/v1/audit/export",
        "/api/v1/events"
      })
  void aHeadIsAnsweredAsAGetWithoutItsBody(String path) throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(
          "HEAD %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                  .formatted(path, LiveServer.ADMIN)
              + "Upgrade: websocket\r\nConnection: close\r\n\r\n");
      String answer = client.readAll();
      assertThat(answer).startsWith("HTTP/1.1 200").endsWith("\r\n\r\n");
      assertThat(answer).contains("Content-Type: ").doesNotContain("Content-Length: 0");
    }
  }

  @Test
  void aWholeAddressIsTakenApart() throws IOException {
    assertThat(head("GET http://localhost/health HTTP/1.1\r\nHost: localhost"))
        .startsWith("HTTP/1.1 200");
    assertThat(head("GET HTTPS://127.0.0.1:1/docs?x=/y HTTP/1.1\r\nHost: localhost"))
        .startsWith("HTTP/1.1 200");
    // The name in it counts, whatever the header says.
    assertThat(head("GET http://evil.example/health HTTP/1.1\r\nHost: localhost"))
        .startsWith("HTTP/1.1 403");
    assertThat(head("GET http://localhost HTTP/1.1\r\nHost: localhost")).startsWith("HTTP/1.1 302");
  }

  private String head(String request) throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(request + "\r\nConnection: close\r\n\r\n");
      return client.readHead();
    }
  }

  @Test
  void foreignHostsAndOriginsAreRefused() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
      assertThat(client.readHead()).startsWith("HTTP/1.1 403");
    }
    Answer origin =
        server.send(
            server
                .request("GET", "/api/v1/sandboxes", BodyPublishers.noBody())
                .header("Origin", "https://evil.example")
                .build());
    assertThat(origin.status()).isEqualTo(403);
    assertThat(origin.field()).isEqualTo("Origin");
  }

  @Test
  void requestIdsComeBack() {
    Answer own =
        server.send(
            server
                .request("GET", "/api/v1/nothing", BodyPublishers.noBody())
                .header("X-Request-Id", "mine-1.2_3")
                .build());
    assertThat(own.header("X-Request-Id")).isEqualTo("mine-1.2_3");
    assertThat(own.json().get("request_id").asText()).isEqualTo("mine-1.2_3");
    Answer forged =
        server.send(
            server
                .request("GET", "/api/v1/nothing", BodyPublishers.noBody())
                .header("X-Request-Id", "a b\" c")
                .build());
    assertThat(forged.header("X-Request-Id")).startsWith("rq");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /health HTTP/1.1\r\n\r\n",
        "GET /health?page=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /hea\u0001lth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
      })
  void malformedRequestsAreProblemsWithoutAStackTrace(String request) throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(request);
      String answer = client.readAll();
      assertThat(answer).startsWith("HTTP/1.1 400");
      assertThat(answer).contains("application/problem+json", "invalid_input");
      assertThat(answer).doesNotContain("Exception", "\tat ", "helidon");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"GET /health\r\n\r\n", "NONSENSE\r\n\r\n", "\u0016\u0003\u0001\u0002\u0000\r\n"})
  void whatIsNotHttpIsHungUpOn(String request) throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(request);
      assertThat(client.readAll()).doesNotContain("Exception");
    }
  }

  @Test
  void hugeHeadersAndPathsAreRefused() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.sendAsFarAsItGoes(
          "GET /" + "a".repeat(100_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
      assertThat(client.readAll()).startsWith("HTTP/1.1 4").contains("problem+json");
    }
    try (var client = new RawClient(server.port())) {
      client.sendAsFarAsItGoes(
          "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "a".repeat(200_000) + "\r\n\r\n");
      assertThat(client.readAll()).startsWith("HTTP/1.1 4").contains("problem+json");
    }
  }

  @Test
  void metricsCountRequestsByRoute() {
    server.sandboxId();
    server.get("/api/v1/nothing");
    assertThat(server.get("/metrics").text())
        .contains("carrel_http_requests_seconds_count{")
        .contains("carrel_sandboxes{status=\"running\"}")
        .contains("carrel_events_total{event=\"sandboxes_started\"}")
        .contains("jvm_memory_used_bytes");
  }

  @Test
  void metricsOfOneAreNotShownToAnother() throws InterruptedException {
    server.sandboxId();
    assertThat(running(LiveServer.ADA)).isNotEqualTo(running(LiveServer.BOB));
    var seen = new ConcurrentHashMap<String, Set<String>>();
    var scraping = new ArrayList<Thread>();
    for (String token : List.of(LiveServer.ADA, LiveServer.BOB)) {
      seen.put(token, ConcurrentHashMap.newKeySet());
      scraping.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    for (int i = 0; i < 300; i++) {
                      seen.get(token).add(running(token));
                    }
                  }));
    }
    for (Thread one : scraping) {
      one.join();
    }
    assertThat(seen)
        .containsEntry(LiveServer.ADA, Set.of(running(LiveServer.ADA)))
        .containsEntry(LiveServer.BOB, Set.of(running(LiveServer.BOB)));
  }

  private String running(String token) {
    return server
        .send(
            HttpRequest.newBuilder(server.uri("/metrics"))
                .header("Authorization", "Bearer " + token)
                .build())
        .text()
        .lines()
        .filter(line -> line.startsWith("carrel_sandboxes{status=\"running\"}"))
        .findFirst()
        .orElseThrow();
  }
}
