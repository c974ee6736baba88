package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ExecStreamTest {
  private static final String STARTED =
      "event: started\ndata: {\"id\":\"e\",\"pid\":1,\"offset\":0}\n\n";

  @Test
  @Timeout(30)
  void charactersThatAreSplitOverEventsStayWhole() throws IOException {
    HttpServer server =
        serving(
            STARTED
                + "event: stdout\ndata: {\"base64\":\"MeKC\"}\n\n"
                + "event: stderr\ndata: {\"base64\":\"eA==\"}\n\n"
                + "event: stdout\ndata: {\"base64\":\"rA==\"}\n\n");
    URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    try (var transport = new Transport(address, "token");
        ExecStream exec = ExecStream.start(transport, "/s", ExecOptions.of(List.of("true")))) {
      var texts = new ArrayList<String>();
      for (ExecEvent event : exec) {
        if (event instanceof ExecEvent.Output output) {
          texts.add(output.text());
        }
      }
      assertThat(texts).containsExactly("1", "x", "€");
    } finally {
      server.stop(0);
    }
  }

  private static HttpServer serving(String events) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] bytes = events.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    server.start();
    return server;
  }

  @Test
  @Timeout(30)
  void aStreamThatEndsInTheQueueHasNoId() throws IOException {
    HttpServer server = serving("event: queued\ndata: {\"position\":1}\n\n");
    URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    try (var transport = new Transport(address, "token");
        ExecStream exec = ExecStream.start(transport, "/s", ExecOptions.of(List.of("true")))) {
      assertThatThrownBy(exec::id).isInstanceOf(CarrelException.class);
      assertThat(exec).containsExactly(new ExecEvent.Queued(1));
    } finally {
      server.stop(0);
    }
  }
}
