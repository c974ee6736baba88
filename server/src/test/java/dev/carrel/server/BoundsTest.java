package dev.carrel.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.files.FileSettings;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.spi.DataSize;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is too much, too slow or too late. */
@Timeout(90)
public class BoundsTest {
  private static LiveServer server;
  private static String sandbox;

  @BeforeAll
  static void start() {
    server =
        LiveServer.start(
            LiveServer.settings()
                .withTimes(Duration.ofSeconds(3), Duration.ofMillis(200), Duration.ofSeconds(5)),
            defaults ->
                defaults
                    .withSandboxes(defaults.sandboxes().withMaxSandboxes(10, 2))
                    .withFiles(
                        new FileSettings(
                            DataSize.ofMebibytes(1), 1000, 1000, 1000, DataSize.ofMebibytes(64))));
    sandbox = server.sandbox();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void aLimitSaysWhenToTryAgain() {
    String other = server.sandbox();
    Answer answer = server.post("/api/v1/sandboxes", "{}");
    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.code()).isEqualTo("limit_reached");
    assertThat(Integer.parseInt(answer.header("Retry-After"))).isPositive();
    assertThat(server.delete(other).status()).isEqualTo(204);
  }

  @Test
  void aDeadSandboxSaysHowItDied() {
    String dying = server.sandbox();
    server.post(
        dying + "/exec", "{\"command\":\"kill -9 $(ps -o ppid= -p $PPID)\",\"background\":true}");
    Eventually.until(
        "the sandbox has failed",
        () -> server.get(dying).json().get("status").asText().equals("failed"));
    for (String path : new String[] {"/exec", "/code", "/contexts", "/fs/stat"}) {
      Answer answer =
          server.post(
              dying + path,
              "{\"command\":\"true\",\"code\":\"1\",\"language\":\"bash\",\"path\":\"a\"}");
      assertThat(answer.status()).as(path).isEqualTo(410);
      assertThat(answer.code()).isEqualTo("sandbox_gone");
      assertThat(answer.json().get("cause").asText()).isNotEmpty();
      assertThat(answer.json().get("hint").asText()).contains("start it again");
    }
    assertThat(server.get(dying + "/files/a").status()).isEqualTo(410);
    assertThat(server.delete(dying).status()).isEqualTo(204);
  }

  @Test
  void aBodyOverItsLimitIsTooLarge() {
    String big = "{\"command\":\"" + "x".repeat(1_100_000) + "\"}";
    assertThat(server.post(sandbox + "/exec", big).status()).isEqualTo(413);
    Answer chunked =
        server.send(
            server
                .request(
                    "POST",
                    sandbox + "/exec",
                    BodyPublishers.ofInputStream(
                        () -> new ByteArrayInputStream(big.getBytes(UTF_8))))
                .build());
    assertThat(chunked.status()).isEqualTo(413);
    assertThat(chunked.code()).isEqualTo("too_large");
  }

  @Test
  void aFileOverItsLimitIsTooLargeAndLeavesNothing() {
    byte[] big = new byte[3_000_000];
    assertThat(server.put(sandbox + "/files/big", big).status()).isEqualTo(413);
    Answer chunked =
        server.send(
            server
                .request(
                    "PUT",
                    sandbox + "/files/big",
                    BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(big)))
                .build());
    assertThat(chunked.status()).as(chunked.text()).isEqualTo(413);
    assertThat(server.get(sandbox + "/files/big").status()).isEqualTo(404);
  }

  @Test
  void aChunkIsNotBelievedToBeAsLargeAsItSays() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(head("POST", sandbox + "/exec", "Transfer-Encoding: chunked"));
      client.send("7fffffff\r\n" + "x".repeat(1_200_000));
      assertThat(client.readHead()).startsWith("HTTP/1.1 413");
    }
  }

  @Test
  void anEncodingThatIsNotSpokenIsRefused() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(head("POST", sandbox + "/exec", "Transfer-Encoding: gzip, chunked"));
      assertThat(client.readAll()).startsWith("HTTP/1.1 501").contains("problem+json");
    }
  }

  @Test
  void brokenChunksAreUnreadable() throws IOException {
    for (String body :
        new String[] {
          "zz\r\n", "\r\n", "5\r\nabcdefg\r\n0\r\n\r\n", "5\rx", "5\nabcde", "f".repeat(300)
        }) {
      try (var client = new RawClient(server.port())) {
        client.send(head("POST", sandbox + "/exec", "Transfer-Encoding: chunked"));
        client.send(body);
        assertThat(client.readHead()).as(body).startsWith("HTTP/1.1 400");
      }
    }
  }

  @Test
  void aClientThatStopsHalfWayIsHungUpOn() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n");
      assertThat(client.readAll()).isEmpty();
    }
    try (var client = new RawClient(server.port())) {
      client.send(head("PUT", sandbox + "/files/half", "Content-Length: 1000") + "only this");
      client.readAll();
    }
    assertThat(server.get(sandbox + "/files/half").status()).isEqualTo(404);
  }

  @Test
  void expectContinueIsAnswered() throws IOException {
    for (String framing : new String[] {"Content-Length: 2", "Transfer-Encoding: chunked"}) {
      try (var client = new RawClient(server.port())) {
        client.send(head("PUT", sandbox + "/files/asked", framing + "\r\nExpect: 100-continue"));
        assertThat(client.readHead()).startsWith("HTTP/1.1 100");
        client.send(framing.startsWith("C") ? "ok" : "2\r\nok\r\n0\r\n\r\n");
        assertThat(client.readHead()).startsWith("HTTP/1.1 204");
      }
      assertThat(server.get(sandbox + "/files/asked").text()).isEqualTo("ok");
    }
  }

  @Test
  void aRefusedBodyIsNotTakenForTheNextRequest() throws IOException {
    try (var client = new RawClient(server.port())) {
      String smuggled = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
      client.send(
          "POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
              + smuggled.length()
              + "\r\n\r\n"
              + smuggled);
      String answers = client.readAll();
      assertThat(answers).startsWith("HTTP/1.1 401").doesNotContain("200 OK");
    }
  }

  @Test
  void requestsFollowEachOtherOnOneConnection() throws IOException {
    try (var client = new RawClient(server.port())) {
      for (int i = 0; i < 3; i++) {
        String body = "{\"path\":\"absent\"}";
        client.send(head("POST", sandbox + "/fs/stat", "Content-Length: " + body.length()) + body);
        String head = client.readHead();
        assertThat(head).startsWith("HTTP/1.1 404");
        int length = Integer.parseInt(head.replaceAll("(?si).*content-length: (\\d+).*", "$1"));
        assertThat(client.read(length)).contains("file_not_found");
      }
    }
  }

  @Test
  void aConnectionEndsWhenTheClientWantsThat() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      assertThat(client.readAll()).startsWith("HTTP/1.1 200").endsWith("}");
    }
  }

  @Test
  void quietStreamsAreKeptAlive() throws IOException {
    try (var client = new RawClient(server.port())) {
      client.send(head("GET", sandbox + "/fs/watch", "Accept: text/event-stream"));
      assertThat(client.readHead()).startsWith("HTTP/1.1 200");
      assertThat(client.readUntil(": keep-alive\n\n")).contains("event: ready");
    }
  }

  public static String head(String method, String path, String headers) {
    return method
        + " "
        + path
        + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        + LiveServer.ADA
        + "\r\n"
        + headers
        + "\r\n\r\n";
  }
}
