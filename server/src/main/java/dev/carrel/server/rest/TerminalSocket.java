package dev.carrel.server.rest;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.terminal.Attachment;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** One viewer of a terminal: the screen goes out, keys and sizes come in. For one thread. */
final class TerminalSocket {
  /** The time of the link is over. */
  static final int LINK_EXPIRED = 4001;

  /** The sandbox is gone, and the terminal with it. */
  static final int SANDBOX_GONE = 4004;

  /** The viewer fell behind. */
  static final int TOO_SLOW = 4008;

  static final int MAX_MESSAGE = 1024 * 1024;
  private static final int MAX_CONTROL = 4096;
  private static final int PIECE = 64 * 1024;

  /** New output that a viewer may be behind with; the program waits for none. */
  static final long MAX_BEHIND = 4L * 1024 * 1024;

  private final Exchange exchange;
  private final Attachment attachment;
  private final boolean control;
  private final boolean screen;
  private final @Nullable Instant end;
  private final WebSocket socket;
  private boolean begun;

  /**
   * @param screen whether the viewer wants to see it
   * @param end when the viewer has to go; null: when it likes
   */
  TerminalSocket(
      Exchange exchange,
      Attachment attachment,
      TerminalProtocol protocol,
      boolean screen,
      @Nullable Instant end) {
    this.exchange = exchange;
    this.attachment = attachment;
    this.control = protocol.control();
    this.screen = screen;
    this.end = end;
    this.socket = exchange.webSocket(protocol.headers(), new Keys(attachment, control));
  }

  /** Shows until the program ends, the viewer leaves or has to. */
  void serve() throws InterruptedException {
    try {
      show();
    } catch (InterruptedException e) {
      if (!exchange.shuttingDown()) {
        throw e;
      }
      goingAway();
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.SHUTTING_DOWN) {
        goingAway();
      } else {
        socket.closeAndWait(WebSocket.FAILED, e.message());
      }
    }
  }

  private void goingAway() {
    socket.closeAndWait(
        WebSocket.GOING_AWAY, "the server stops; the terminal runs on: come back to it");
  }

  private void show() throws InterruptedException {
    tell(new Attached("attached", attachment.from(), attachment.end(), attachment.writes()));
    while (!socket.closed()) {
      ExecEvent event = attachment.next(patience());
      switch (event) {
        case ExecEvent.Started _ -> {}
        case ExecEvent.Output output -> put(output.bytes());
        case ExecEvent.Gap gap when gap.equals(ExecStream.NOTHING) -> {}
        // What a viewer asks for may be gone. What it was to see next is gone for the slow only.
        case ExecEvent.Gap _ when begun && screen -> tooSlow();
        case ExecEvent.Gap gap -> tell(new Lost("gap", gap.bytes()));
        case ExecEvent.Exited exited -> {
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
      expire();
    }
  }

  private void put(ByteBuffer bytes) {
    begun = true;
    if (!screen) {
      return;
    }
    socket.sendBinary(bytes);
    if (attachment.behind() > MAX_BEHIND) {
      tooSlow();
    }
  }

  private void tooSlow() {
    socket.closeAndWait(TOO_SLOW, "too slow; come back, with from=" + attachment.offset());
  }

  private void exited(ExecEvent.Exited exited) {
    String cause = ExecViews.wireName(exited.cause());
    tell(new Ended("exited", exited.code(), exited.signal(), cause));
    if (exited.cause() == ExecEvent.Cause.SANDBOX_LOST) {
      socket.closeAndWait(SANDBOX_GONE, "the sandbox is gone");
    } else {
      socket.closeAndWait(WebSocket.NORMAL, "exited " + exited.code() + " " + cause);
    }
  }

  private Duration patience() {
    if (end == null) {
      return exchange.patience();
    }
    Duration left = Duration.between(Instant.now(), end);
    Duration some = left.isNegative() ? Duration.ZERO : left.plusMillis(1);
    return some.compareTo(exchange.patience()) < 0 ? some : exchange.patience();
  }

  private void expire() {
    if (end != null && !Instant.now().isBefore(end)) {
      socket.closeAndWait(LINK_EXPIRED, "the time of this link is over");
    }
  }

  private void tell(Object message) {
    if (control) {
      socket.send(Json.bytes(message));
    }
  }

  /** What the client sends, on the thread that reads it. */
  private record Keys(Attachment attachment, boolean control) implements WebSocket.Messages {
    @Override
    public int max() {
      return MAX_MESSAGE;
    }

    @Override
    public boolean text(WebSocket socket, byte[] utf8) {
      return control ? command(socket, utf8) : binary(socket, utf8);
    }

    @Override
    public boolean binary(WebSocket socket, byte[] bytes) {
      try {
        for (int at = 0; attachment.writes() && at < bytes.length; at += PIECE) {
          attachment.type(ByteBuffer.wrap(bytes, at, Math.min(PIECE, bytes.length - at)));
        }
        return true;
      } catch (SandboxException e) {
        return failed(socket, e);
      }
    }

    private boolean command(WebSocket socket, byte[] json) {
      try {
        if (json.length > MAX_CONTROL) {
          throw HttpProblem.tooLarge("control message", MAX_CONTROL);
        }
        Fields fields = Fields.parse(json);
        String type = fields.requiredString("type");
        if (!type.equals("resize")) {
          throw fields.wrong("type", "must be resize");
        }
        var size = ExecRequest.size(fields);
        if (attachment.writes()) {
          attachment.resize(size);
        }
        return true;
      } catch (HttpProblem e) {
        socket.close(WebSocket.REFUSED, String.valueOf(e.getMessage()));
        return false;
      } catch (SandboxException e) {
        return failed(socket, e);
      }
    }

    private static boolean failed(WebSocket socket, SandboxException e) {
      if (e.code() == ErrorCode.WRONG_STATE) {
        // It has ended, which the screen will tell.
        return true;
      }
      boolean caller = e.code().kind() == ErrorCode.Kind.CALLER;
      socket.close(caller ? WebSocket.REFUSED : WebSocket.FAILED, e.message());
      return false;
    }
  }

  /**
   * The first message.
   *
   * @param from offset of the first byte of the screen, unless a gap follows
   * @param end until where it is a replay
   */
  private record Attached(String type, long from, long end, boolean write) {}

  /** Bytes that are no longer kept. */
  private record Lost(String type, long bytes) {}

  /** The last message. */
  @JsonInclude(JsonInclude.Include.ALWAYS)
  private record Ended(String type, int exitCode, @Nullable Integer signal, String cause) {}
}
