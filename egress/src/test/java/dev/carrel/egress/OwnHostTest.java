package dev.carrel.egress;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.egress.ProxyFixture.Client;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The host that the proxy answers for itself. */
@Timeout(120)
@SuppressWarnings("NullAway") // set before each test
final class OwnHostTest {
  private static final String OWN = "http://" + OwnHost.NAME;

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
  void itIsServedOnOneConnectionAsLongAsSomebodyServesIt() throws IOException {
    Gate.Serving serving =
        fixture
            .gate()
            .serve(
                "place",
                (path, accept) ->
                    path.equals("away")
                        ? OwnHost.Reply.elsewhere("http://web.example/")
                        : OwnHost.Reply.of(
                            200, "text/x", (path + "|" + accept).getBytes(US_ASCII)));
    try (Client client = fixture.connect()) {
      client.send(request("GET", OWN + "/place/a/b", "Accept: text/x\r\n"));
      assertThat(client.until("\r\n\r\n"))
          .startsWith("HTTP/1.1 200 OK\r\n")
          .contains("Content-Type: text/x", "Content-Length: 10");
      assertThat(client.text(10)).isEqualTo("a/b|text/x");
      client.send(request("GET", OWN + "/place/away", ""));
      assertThat(client.until("\r\n\r\n"))
          .startsWith("HTTP/1.1 302 ")
          .contains("Location: http://web.example/\r\n");
      serving.close();
      client.send(request("GET", OWN + "/place/a", ""));
      assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 403 ");
    }
    assertThat(fixture.seen).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"PUT", "POST", "DELETE", "HEAD", "PATCH"})
  void nothingCanBeWrittenToIt(String method) throws IOException {
    fixture.gate().serve("place", (path, accept) -> OwnHost.Reply.of(200, "text/x", new byte[1]));

    assertThat(fixture.ask(request(method, OWN + "/place/a", ""))).startsWith("HTTP/1.1 403 ");
    assertThat(fixture.ask(request("GET", OWN + "/place/a", "Content-Length: 3\r\n") + "abc"))
        .startsWith("HTTP/1.1 403 ");
  }

  @Test
  void itIsNobodyElses() throws IOException {
    Gate other = fixture.proxy().inner("sbother", _ -> {});
    other.serve("place", (path, accept) -> OwnHost.Reply.of(200, "text/x", new byte[1]));

    for (String path : List.of("/place/a", "/", "/place", "/other/../place/a")) {
      assertThat(fixture.ask(request("GET", OWN + path, ""))).startsWith("HTTP/1.1 403 ");
    }
    fixture.gate().serve("place", (path, accept) -> OwnHost.Reply.of(200, "text/x", new byte[1]));
    assertThat(
            fixture.ask(
                "CONNECT %1$s:443 HTTP/1.1\r\nHost: %1$s:443\r\n\r\n".formatted(OwnHost.NAME)))
        .startsWith("HTTP/1.1 403 ");
    assertThat(fixture.ask(request("GET", "http://x." + OwnHost.NAME + "/place/a", "")))
        .startsWith("HTTP/1.1 403 ");
  }

  private static String request(String method, String url, String fields) {
    String host = url.substring(7, url.indexOf('/', 7));
    return "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n".formatted(method, url, host, fields);
  }
}
