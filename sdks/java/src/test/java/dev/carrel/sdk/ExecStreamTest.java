package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ExecStreamTest {
  @Test
  @Timeout(30)
  void aStreamThatEndsInTheQueueHasNoId() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] event =
              "event: queued\ndata: {\"position\":1}\n\n".getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, event.length);
          exchange.getResponseBody().write(event);
          exchange.close();
        });
    server.start();
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
