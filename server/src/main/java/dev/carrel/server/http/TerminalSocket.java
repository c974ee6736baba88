package dev.carrel.server.http;

import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.terminal.Attachment;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A terminal over a WebSocket: the screen goes out, keys and sizes come in. How they are said is
 * for those to know who extend this. For one thread.
 */
public abstract class TerminalSocket {
  /** The sandbox is gone, and the terminal with it. */
  private static final int SANDBOX_GONE = 4004;

  private static final int MAX_MESSAGE = 1024 * 1024;
  private static final int PIECE = 64 * 1024;

  protected final Exchange exchange;
  protected final Attachment terminal;
  protected final WebSocket socket;

  protected TerminalSocket(Exchange exchange, Map<String, String> headers, Keys keys) {
    this.exchange = exchange;
    this.terminal = keys.terminal();
    this.socket = exchange.webSocket(headers, keys);
  }

  protected abstract void output(ByteBuffer bytes);

  /** So many bytes are no longer kept. */
  protected abstract void lost(long bytes);

  /** The last that is told; the close follows. */
  protected abstract void exited(ExecEvent.Exited exited);

  /** What the close says when the server stops. */
  protected abstract String stopping();

  /** The next event, or {@link ExecStream#NOTHING} when a sign of life is due. */
  protected @Nullable ExecEvent next() throws InterruptedException {
    return terminal.next(exchange.patience());
  }

  /** Says why it ends; {@link #show} returns after that. */
  protected void close(int code, String reason) {
    socket.closeAndWait(code, reason);
  }

  /** Shows until the program ends, the viewer leaves or has to. */
  protected final void show() throws InterruptedException {
    try {
      while (!socket.closed()) {
        // Also while the program writes without pause.
        if (!socket.answers(exchange.patience())) {
          throw exchange.hangUp();
        }
        tell(next());
      }
    } catch (InterruptedException e) {
      if (!exchange.shuttingDown()) {
        throw e;
      }
      close(WebSocket.GOING_AWAY, stopping());
    } catch (SandboxException e) {
      boolean stops = e.code() == ErrorCode.SHUTTING_DOWN;
      close(stops ? WebSocket.GOING_AWAY : WebSocket.FAILED, stops ? stopping() : e.message());
    }
  }

  private void tell(@Nullable ExecEvent event) {
    switch (event) {
      case ExecEvent.Started _ -> {}
      case ExecEvent.Output output -> output(output.bytes());
      case ExecEvent.Gap gap when gap.equals(ExecStream.NOTHING) -> {}
      case ExecEvent.Gap gap -> lost(gap.bytes());
      case ExecEvent.Exited exited -> {
        exited(exited);
        if (exited.cause() == ExecEvent.Cause.SANDBOX_LOST) {
          close(SANDBOX_GONE, "the sandbox is gone");
        } else {
          String cause = exited.cause().name().toLowerCase(Locale.ROOT);
          close(WebSocket.NORMAL, "exited " + exited.code() + " " + cause);
        }
      }
      case null -> throw new IllegalStateException("nothing follows the end");
    }
  }

  /** What the client sends, on the thread that reads it. */
  public interface Keys extends WebSocket.Messages {
    Attachment terminal();

    /** Tells the client that it is wrong. Returns whether it may go on. */
    boolean refuse(WebSocket socket, String why);

    @Override
    default int max() {
      return MAX_MESSAGE;
    }

    default void type(byte[] keys) {
      for (int at = 0; at < keys.length; at += PIECE) {
        terminal().type(ByteBuffer.wrap(keys, at, Math.min(PIECE, keys.length - at)));
      }
    }

    /** What came could not be done. Returns whether the client may go on. */
    default boolean failed(WebSocket socket, SandboxException e) {
      if (e.code() == ErrorCode.WRONG_STATE) {
        // It has ended, which the screen will tell.
        return true;
      }
      if (e.code().kind() == ErrorCode.Kind.CALLER) {
        return refuse(socket, e.message());
      }
      socket.close(WebSocket.FAILED, e.message());
      return false;
    }
  }
}
