package dev.carrel.server.flat;

import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.terminal.Attachment;
import dev.carrel.control.terminal.TerminalStart;
import dev.carrel.control.terminal.Terminals;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.Subprotocols;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A shell over a WebSocket, and as long as it: all that is said is JSON. For one thread; what the
 * client says is taken by another.
 */
final class TerminalTalk {
  static final String PROTOCOL = "carrel.terminal.flat.v1";

  /** The sandbox is gone, and the shell with it. */
  private static final int SANDBOX_GONE = 4004;

  private static final int MAX_MESSAGE = 1024 * 1024;
  private static final int PIECE = 64 * 1024;

  private final Exchange exchange;
  private final Attachment terminal;
  private final WebSocket socket;
  private final Utf8Text text = new Utf8Text();

  private TerminalTalk(Exchange exchange, Map<String, String> headers, Attachment terminal) {
    this.exchange = exchange;
    this.terminal = terminal;
    this.socket = exchange.webSocket(headers, new Keys(terminal));
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
      new TerminalTalk(exchange, headers, terminal).talk();
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

  private void talk() throws InterruptedException {
    try {
      show();
    } catch (InterruptedException e) {
      if (!exchange.shuttingDown()) {
        throw e;
      }
      // Before the client is told: a server that stops waits for neither.
      end(exchange, terminal);
      socket.closeAndWait(WebSocket.GOING_AWAY, "the server stops");
    } catch (SandboxException e) {
      boolean stops = e.code() == ErrorCode.SHUTTING_DOWN;
      end(exchange, terminal);
      socket.closeAndWait(stops ? WebSocket.GOING_AWAY : WebSocket.FAILED, e.message());
    }
  }

  private void show() throws InterruptedException {
    while (!socket.closed()) {
      switch (terminal.next(exchange.patience())) {
        case ExecEvent.Started _ -> {}
        case ExecEvent.Output output -> put(text.decode(output.bytes()));
        case ExecEvent.Gap gap when gap.equals(ExecStream.NOTHING) -> {}
        case ExecEvent.Gap gap -> tell(socket, Said.error(gap.bytes() + " bytes are lost"));
        case ExecEvent.Exited exited -> {
          put(text.end());
          exited(exited);
          return;
        }
        case null -> {
          return;
        }
      }
      if (!socket.answers(exchange.patience())) {
        throw exchange.hangUp();
      }
    }
  }

  private void put(String piece) {
    // Nothing, when all that came is the beginning of a character.
    if (!piece.isEmpty()) {
      tell(socket, Said.output(piece));
    }
  }

  private void exited(ExecEvent.Exited exited) {
    if (exited.cause() == ExecEvent.Cause.SANDBOX_LOST) {
      socket.closeAndWait(SANDBOX_GONE, "the sandbox is gone");
      return;
    }
    String cause = exited.cause().name().toLowerCase(Locale.ROOT);
    socket.closeAndWait(WebSocket.NORMAL, "exited " + exited.code() + " " + cause);
  }

  private static void tell(WebSocket socket, Said said) {
    socket.send(Json.bytes(said));
  }

  /** What the client says, on the thread that reads it. What is wrong with it ends nothing. */
  private record Keys(Attachment terminal) implements WebSocket.Messages {
    @Override
    public int max() {
      return MAX_MESSAGE;
    }

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

    private void type(byte[] keys) {
      for (int at = 0; at < keys.length; at += PIECE) {
        terminal.type(ByteBuffer.wrap(keys, at, Math.min(PIECE, keys.length - at)));
      }
    }

    private static boolean failed(WebSocket socket, SandboxException e) {
      if (e.code() == ErrorCode.WRONG_STATE) {
        // It has ended, which the screen will tell.
        return true;
      }
      if (e.code().kind() == ErrorCode.Kind.CALLER) {
        tell(socket, Said.error("invalid message format: " + e.message()));
        return true;
      }
      socket.close(WebSocket.FAILED, e.message());
      return false;
    }
  }
}
