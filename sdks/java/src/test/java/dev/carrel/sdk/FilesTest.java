package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FilesTest {
  @Test
  void aListThatWasCutSaysSo() throws IOException {
    assertThat(listed("true").truncated()).isTrue();
    FileListing whole = listed("false");
    assertThat(whole.truncated()).isFalse();
    assertThat(whole).singleElement().extracting(FileEntry::name).isEqualTo("a");
  }

  private static FileListing listed(String truncated) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = "[{\"name\":\"a\"}]".getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().set("X-Carrel-Truncated", truncated);
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    URI base = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    try (var transport = new Transport(base, "token")) {
      return new Files(transport, "/api/v1/sandboxes/sb1").list("/workspace");
    } finally {
      server.stop(0);
    }
  }
}
