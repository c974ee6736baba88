package dev.carrel.server.flat;

import dev.carrel.control.terminal.Attachment;
import dev.carrel.control.terminal.TerminalStart;
import dev.carrel.control.terminal.Terminals;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Subprotocols;
import dev.carrel.server.http.TerminalSocket;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A shell over a WebSocket, and as long as it: all that is said is JSON. For one thread. */
final class TerminalTalk extends TerminalSocket {
  static final String PROTOCOL = "carrel.terminal.flat.v1";

  private final Utf8Text text = new Utf8Text();

  private TerminalTalk(Exchange exchange, Map<String, String> headers, Attachment terminal) {
    super(exchange, headers, new Heard(terminal));
  }

  /**
   * Opens one and talks until it ends or the client leaves, which ends it.
   *
   * @param headers as {@link #agreed}
   */
  static @Nullable Envelope hold(
      FlatApi.Desk at,
      SandboxId sandbox,
      Map<String, String> headers,
      Terminals terminals,
      @Nullable String folder)
      throws InterruptedException {
    Exchange exchange = at.exchange();
    var start = new TerminalStart(List.of(), Map.of(), folder, TerminalStart.USUAL_SIZE, List.of());
    Attachment terminal = terminals.openAttached(at.caller(), sandbox, start);
    try {
      new TerminalTalk(exchange, headers, terminal).show();
    } finally {
      end(exchange, terminal);
    }
    throw exchange.hangUp();
  }

  private static void end(Exchange exchange, Attachment terminal) {
    // To kill takes a connection of its own, which the client's leaving must not interrupt.
    exchange.settle();
    terminal.close();
  }

  /** What the answer to a client says that wants a shell. Nothing is made for another. */
  static Map<String, String> agreed(Exchange exchange) {
    if (!exchange.wantsWebSocket()) {
      throw SandboxException.invalid("Upgrade", "must be websocket");
    }
    List<String> offered = Subprotocols.offered(exchange);
    if (!offered.isEmpty() && !offered.contains(PROTOCOL)) {
      // A browser takes an answer that agrees on nothing for a failure.
      throw SandboxException.invalid("Sec-WebSocket-Protocol", "must name " + PROTOCOL);
    }
    return offered.isEmpty() ? Map.of() : Map.of(WebSocket.PROTOCOL.defaultCase(), PROTOCOL);
  }

  @Override
  protected void output(ByteBuffer bytes) {
    put(text.decode(bytes));
  }

  @Override
  protected void lost(long bytes) {
    tell(socket, Said.error(bytes + " bytes are lost"));
  }

  @Override
  protected void exited(ExecEvent.Exited exited) {
    put(text.end());
  }

  @Override
  protected String stopping() {
    return "the server stops";
  }

  @Override
  protected void close(int code, String reason) {
    // Before the client is told: a server that stops waits for neither.
    end(exchange, terminal);
    super.close(code, reason);
  }

  private void put(String piece) {
    // Nothing, when all that came is the beginning of a character.
    if (!piece.isEmpty()) {
      tell(socket, Said.output(piece));
    }
  }

  private static void tell(WebSocket socket, Said said) {
    socket.send(Json.bytes(said));
  }

  /** What is wrong with what the client says ends nothing. */
  private record Heard(Attachment terminal) implements Keys {
    @Override
    public boolean binary(WebSocket socket, byte[] bytes) {
      tell(socket, Said.MALFORMED);
      return true;
    }

    @Override
    public boolean text(WebSocket socket, byte[] utf8) {
      try {
        Fields message = Fields.parse(utf8);
        switch (message.requiredString("type")) {
          case "ping" -> tell(socket, Said.PONG);
          case "input" -> type(keys(message));
          case "resize" -> terminal.resize(size(message));
          default -> tell(socket, Said.UNKNOWN);
        }
        return true;
      } catch (HttpProblem e) {
        tell(socket, Said.MALFORMED);
        return true;
      } catch (SandboxException e) {
        return failed(socket, e);
      }
    }

    private static byte[] keys(Fields message) {
      String keys = message.string("data");
      if (keys == null) {
        throw message.missing("data");
      }
      return keys.getBytes(StandardCharsets.UTF_8);
    }

    private static Command.TerminalSize size(Fields message) {
      Fields size = message.object("data");
      if (size == null) {
        throw message.missing("data");
      }
      return new Command.TerminalSize(
          size.requiredWholeNumber("rows", 1, 1000), size.requiredWholeNumber("cols", 1, 1000));
    }

    @Override
    public boolean refuse(WebSocket socket, String why) {
      tell(socket, Said.error("invalid message format: " + why));
      return true;
    }
  }
}
