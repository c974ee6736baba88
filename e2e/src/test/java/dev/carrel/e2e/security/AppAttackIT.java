package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A sandbox whose app answers exactly the bytes that it was asked for, and clients that lie. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class AppAttackIT {
  private static final String APP =
      """
      import socket, threading, urllib.parse
      listener = socket.create_server(("127.0.0.1", 8000))
      def serve(client):
          with client:
              head = b""
              while b"\\r\\n\\r\\n" not in head:
                  head += client.recv(65536)
              open("heads", "ab").write(head)
              path = head.split(b" ")[1]
              client.sendall(urllib.parse.unquote_to_bytes(path.partition(b"?")[2]))
      while True:
          threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
      """;

  private ServerProcess server;
  private Api api;
  private Box box;
  private Box other;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    server = Carrel.start(folder, Map.of());
    api = new Api(server.address(), server.token());
    box = start();
    other = start();
  }

  private Box start() {
    Box made = api.create("{\"memory_mb\":128}");
    made.put("app.py", APP);
    api.post(
        made.path() + "/exec",
        Api.object().put("command", "python3 app.py").put("background", true));
    made.exec("until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done");
    return made;
  }

  @AfterAll
  void end() throws Exception {
    box.close();
    other.close();
    api.close();
    server.close();
  }

  private String send(String request) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      var all = new ByteArrayOutputStream();
      try {
        socket.getInputStream().transferTo(all);
      } catch (SocketException e) {
        // A reset after the answer is an end as good as any.
        return all.toString(StandardCharsets.ISO_8859_1);
      }
      return all.toString(StandardCharsets.ISO_8859_1);
    }
  }

  private String request(String method, String path, String rest) throws IOException {
    return method
        + " "
        + path
        + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
        + server.token()
        + "\r\n"
        + rest;
  }

  /** Has the app say these bytes. */
  private String said(String encoded) throws IOException {
    return send(
        request("GET", "/app/" + box.id() + "/8000/?" + encoded, "Connection: close\r\n\r\n"));
  }

  private String heads(Box of) {
    return of.exec("cat heads; : > heads").get("stdout").asText();
  }

  @Test
  void anHonestAnswerPasses() throws IOException {
    assertThat(said("HTTP/1.1%20200%20OK%0d%0aContent-Length:%202%0d%0a%0d%0ahi"))
        .startsWith("HTTP/1.1 200")
        .endsWith("hi");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "nonsense%0d%0a%0d%0a",
        "HTTP/1.1%20200%20OK%0d%0aContent-Length:%202%0d%0aContent-Length:%203%0d%0a%0d%0ahi!",
        "HTTP/1.1%20200%20OK%0d%0aContent-Length:%202%0d%0aTransfer-Encoding:%20chunked%0d%0a%0d%0a0%0d%0a%0d%0a",
        "HTTP/1.1%20200%20OK%0d%0aX-A:%20a%0d%0a%20folded%0d%0a%0d%0a",
        "HTTP/1.1%20200%20OK%0d%0aX-A:%20a%00b%0d%0a%0d%0a",
        "HTTP/1.1%20101%20Go%0d%0aUpgrade:%20websocket%0d%0a%0d%0a",
        "HTTP/1.1%20307%20Go%0d%0aLocation:%20http://127.0.0.1/api/v1/sandboxes%0d%0a%0d%0a"
      })
  void aHostileAnswerIsRefused(String encoded) throws IOException {
    assertThat(said(encoded)).startsWith("HTTP/1.1 502").contains("app_failed");
  }

  @Test
  void aBombOfHeadersIsRefused() throws IOException {
    box.put(
        "bomb.py",
        """
        import socket
        listener = socket.create_server(("127.0.0.1", 8002))
        for _ in range(2):
            client = listener.accept()[0]
            try:
                client.sendall(b"HTTP/1.1 200 OK\\r\\n")
                while True:
                    client.sendall(b"X-A: " + b"a" * 60000 + b"\\r\\n")
            except OSError:
                pass
        """);
    api.post(
        box.path() + "/exec",
        Api.object().put("command", "python3 bomb.py").put("background", true));
    box.exec("until (exec 3<>/dev/tcp/127.0.0.1/8002) 2>/dev/null; do sleep 0.05; done");
    String bomb = request("GET", "/app/" + box.id() + "/8002/", "Connection: close\r\n\r\n");
    assertThat(send(bomb)).startsWith("HTTP/1.1 502").contains("app_failed");
    assertThat(api.get("/health").status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "X-A: 1\r\n folded\r\n\r\n",
        "X-A: a\0b\r\n\r\n"
      })
  void aRequestThatCanBeReadInTwoWaysDoesNotArrive(String rest) throws IOException {
    heads(box);
    String smuggled = "GET /app/" + box.id() + "/8000/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    assertThat(send(request("POST", "/app/" + box.id() + "/8000/", rest + smuggled)))
        .startsWith("HTTP/1.1 400");
    assertThat(heads(box)).isEmpty();
  }

  @Test
  void neitherTokenNorForeignCookiesArrive() throws IOException {
    heads(box);
    send(
        request(
            "GET",
            "/app/" + box.id() + "/8000/",
            "X-Carrel-Token: "
                + server.token()
                + "\r\nCookie: session=other-service; carrel-app-mine=1\r\n"
                + "X-Kept: 1\r\nConnection: close\r\n\r\n"));
    assertThat(heads(box))
        .containsIgnoringCase("x-kept: 1")
        .contains("Cookie: mine=1\r\n")
        .doesNotContain(server.token())
        .doesNotContain("other-service");
  }

  @Test
  void aLinkIsForOnePortOfOneSandbox() throws IOException {
    String path =
        api.post(box.path() + "/ports/8000/link", Api.object()).json().get("path").asText();
    String end = " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    heads(box);
    heads(other);
    assertThat(send("GET " + path + "?HTTP/1.1%20204%20No%0d%0a%0d%0a" + end))
        .startsWith("HTTP/1.1 204");
    assertThat(heads(box)).isNotEmpty();
    for (String forged :
        new String[] {
          path.replace(box.id(), other.id()),
          path.replace("/8000/", "/8001/"),
          path.replace("/~1", "/~2"),
          path.substring(0, path.length() - 2) + "0/",
          "/app/" + box.id() + "/8000/~1.0000000000000000000000000000000000000000/",
          "/app/" + box.id() + "/8000/"
        }) {
      String tried = forged.equals(path) ? forged.substring(0, forged.length() - 2) + "1/" : forged;
      assertThat(send("GET " + tried + end)).as(tried).startsWith("HTTP/1.1 401");
    }
    assertThat(heads(box)).isEmpty();
    assertThat(heads(other)).isEmpty();
  }
}
