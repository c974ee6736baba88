package dev.carrel.server.flat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A WebSocket that answers pings, for clients that want to know whether the computer is there. */
final class Heartbeat {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private Heartbeat() {}

  /** Talks until the client leaves or is silent for too long. */
  static @Nullable Envelope talk(FlatApi.Desk at) throws InterruptedException {
    Exchange exchange = at.exchange();
    if (!exchange.wantsWebSocket()) {
      throw SandboxException.invalid("Upgrade", "must be websocket");
    }
    WebSocket socket = exchange.conversation();
    for (WebSocket.Message message; (message = socket.receive(PATIENCE)) != null; ) {
      socket.send(Json.bytes(answer(message)));
    }
    socket.close(WebSocket.NORMAL, "silent for too long");
    throw exchange.hangUp();
  }

  private static Said answer(WebSocket.Message message) {
    JsonNode said;
    try {
      said = message.text() ? Json.parse(message.bytes()) : null;
    } catch (HttpProblem e) {
      said = null;
    }
    if (said == null || !said.path("type").isTextual()) {
      return Said.MALFORMED;
    }
    return said.path("type").asText().equals("ping") ? Said.PONG : Said.UNKNOWN;
  }
}
