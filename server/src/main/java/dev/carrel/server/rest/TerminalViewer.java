package dev.carrel.server.rest;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.terminal.Attachment;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Json;
import dev.carrel.server.http.TerminalSocket;
import dev.carrel.server.http.WebSocket;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** One of those who look at a terminal that is nobody's own. For one thread. */
final class TerminalViewer extends TerminalSocket {
  /** The time of the link is over. */
  private static final int LINK_EXPIRED = 4001;

  /** The viewer fell behind. */
  private static final int TOO_SLOW = 4008;

  private static final int MAX_CONTROL = 4096;

  /** New output that a viewer may be behind with; the program waits for none. */
  private static final long MAX_BEHIND = 4L * 1024 * 1024;

  private final boolean control;
  private final boolean screen;
  private final @Nullable Instant end;
  private boolean begun;

  /**
   * @param screen whether the viewer wants to see it
   * @param end when the viewer has to go; null: when it likes
   */
  TerminalViewer(
      Exchange exchange,
      Attachment terminal,
      TerminalProtocol protocol,
      boolean screen,
      @Nullable Instant end) {
    super(exchange, protocol.headers(), new Heard(terminal, protocol.control()));
    this.control = protocol.control();
    this.screen = screen;
    this.end = end;
  }

  void serve() throws InterruptedException {
    tell(new Attached("attached", terminal.from(), terminal.end(), terminal.writes()));
    show();
  }

  @Override
  protected @Nullable ExecEvent next() throws InterruptedException {
    if (end == null) {
      return super.next();
    }
    Duration left = Duration.between(Instant.now(), end);
    if (!left.isPositive()) {
      close(LINK_EXPIRED, "the time of this link is over");
      return ExecStream.NOTHING;
    }
    Duration some = left.plusMillis(1);
    return terminal.next(some.compareTo(exchange.patience()) < 0 ? some : exchange.patience());
  }

  @Override
  protected void output(ByteBuffer bytes) {
    begun = true;
    if (!screen) {
      return;
    }
    socket.sendBinary(bytes);
    if (terminal.behind() > MAX_BEHIND) {
      tooSlow();
    }
  }

  @Override
  protected void lost(long bytes) {
    // What a viewer asks for may be gone. What it was to see next is gone for the slow only.
    if (begun && screen) {
      tooSlow();
    } else {
      tell(new Lost("gap", bytes));
    }
  }

  private void tooSlow() {
    close(TOO_SLOW, "too slow; come back, with from=" + terminal.offset());
  }

  @Override
  protected void exited(ExecEvent.Exited exited) {
    String cause = ExecViews.wireName(exited.cause());
    tell(new Ended("exited", exited.code(), exited.signal(), cause));
  }

  @Override
  protected String stopping() {
    return "the server stops; the terminal runs on: come back to it";
  }

  private void tell(Object message) {
    if (control) {
      socket.send(Json.bytes(message));
    }
  }

  private record Heard(Attachment terminal, boolean control) implements Keys {
    @Override
    public boolean text(WebSocket socket, byte[] utf8) {
      return control ? command(socket, utf8) : binary(socket, utf8);
    }

    @Override
    public boolean binary(WebSocket socket, byte[] bytes) {
      try {
        if (terminal.writes()) {
          type(bytes);
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
        if (terminal.writes()) {
          terminal.resize(size);
        }
        return true;
      } catch (HttpProblem e) {
        return refuse(socket, String.valueOf(e.getMessage()));
      } catch (SandboxException e) {
        return failed(socket, e);
      }
    }

    @Override
    public boolean refuse(WebSocket socket, String why) {
      socket.close(WebSocket.REFUSED, why);
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
