package dev.carrel.server.grpc;

import com.google.protobuf.ByteString;
import dev.carrel.control.Control;
import dev.carrel.control.terminal.Attachment;
import dev.carrel.control.terminal.TerminalStart;
import dev.carrel.control.terminal.Terminals;
import dev.carrel.protocols.carrel.OpenTerminal;
import dev.carrel.protocols.carrel.TerminalClosed;
import dev.carrel.protocols.carrel.TerminalInput;
import dev.carrel.protocols.carrel.TerminalOpened;
import dev.carrel.protocols.carrel.TerminalOutput;
import dev.carrel.protocols.carrel.TerminalSize;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** {@code carrel.v1.TerminalService}: keys one way, the screen the other. */
final class TerminalCalls {
  private static final int PIECE = 64 * 1024;

  private final Terminals terminals;
  private final Sessions sessions;

  TerminalCalls(Control control) {
    this.terminals = control.terminals();
    this.sessions = new Sessions(control);
  }

  Service service() {
    return new Service(
        TerminalInput.getDescriptor().getFile().findServiceByName("TerminalService"),
        List.of(
            Method.both(
                "Open",
                TerminalInput.getDefaultInstance(),
                TerminalOutput.getDefaultInstance(),
                this::open)));
  }

  private void open(Call<TerminalInput, TerminalOutput> call)
      throws IOException, InterruptedException {
    TerminalInput first = call.next();
    if (first == null || !first.hasOpen()) {
      throw SandboxException.invalid("open", "must be the first message");
    }
    SandboxId sandbox = sessions.require(call.caller(), first.getOpen().getSandbox());
    TerminalStart start = start(first.getOpen());
    try (Attachment terminal = terminals.openAttached(call.caller(), sandbox, start)) {
      var keys = new Keys(call, terminal);
      try {
        keys.begin();
        show(call, terminal);
      } catch (InterruptedException e) {
        keys.rethrow();
        throw e;
      } finally {
        keys.end();
        call.settle();
      }
    }
  }

  private static TerminalStart start(OpenTerminal open) {
    return new TerminalStart(
        open.getCommandList(),
        open.getEnvMap(),
        open.getCwd().isEmpty() ? null : SessionFiles.absolute(open.getCwd()),
        open.hasSize() ? size(open.getSize()) : TerminalStart.USUAL_SIZE,
        open.getSecretsList());
  }

  private static void show(Call<?, TerminalOutput> call, Attachment terminal)
      throws IOException, InterruptedException {
    for (ExecEvent event = terminal.next(); event != null; event = terminal.next()) {
      switch (event) {
        case ExecEvent.Started started ->
            call.send(
                TerminalOutput.newBuilder()
                    .setOpened(
                        TerminalOpened.newBuilder()
                            .setExecId(terminal.id().value())
                            .setPid(started.pid()))
                    .build());
        case ExecEvent.Output output -> screen(call, output.bytes());
        case ExecEvent.Gap _ -> {}
        case ExecEvent.Exited exited ->
            call.send(
                TerminalOutput.newBuilder()
                    .setClosed(
                        TerminalClosed.newBuilder()
                            .setExitCode(exited.code())
                            .setCause(exited.cause().name().toLowerCase(Locale.ROOT)))
                    .build());
      }
    }
  }

  private static void screen(Call<?, TerminalOutput> call, ByteBuffer bytes)
      throws IOException, InterruptedException {
    while (bytes.hasRemaining()) {
      ByteString piece = ByteString.copyFrom(bytes, Math.min(PIECE, bytes.remaining()));
      call.send(TerminalOutput.newBuilder().setScreen(piece).build());
    }
  }

  private static Command.TerminalSize size(TerminalSize size) {
    return new Command.TerminalSize(size.getRows(), size.getColumns());
  }

  /** What the client types, on its way to the program; a thread of its own. */
  private static final class Keys {
    private final Call<TerminalInput, TerminalOutput> call;
    private final Attachment terminal;
    private final Thread screen = Thread.currentThread();
    private final Thread keys;
    private @Nullable SandboxException failure;
    private boolean over;

    Keys(Call<TerminalInput, TerminalOutput> call, Attachment terminal) {
      this.call = call;
      this.terminal = terminal;
      this.keys = Thread.ofVirtual().name("grpc-keys-" + terminal.id()).unstarted(this::type);
    }

    void begin() {
      keys.start();
    }

    private void type() {
      try {
        for (TerminalInput input = call.next(); input != null; input = call.next()) {
          switch (input.getInputCase()) {
            case KEYS -> terminal.type(input.getKeys().asReadOnlyByteBuffer());
            case SIZE -> terminal.resize(size(input.getSize()));
            case OPEN -> throw SandboxException.invalid("open", "the terminal is open already");
            case INPUT_NOT_SET -> {}
          }
        }
      } catch (SandboxException e) {
        fail(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    /** What was typed cannot be delivered: if the program has ended, that is told by the screen. */
    private synchronized void fail(SandboxException e) {
      if (!over && e.code() != ErrorCode.WRONG_STATE) {
        over = true;
        failure = e;
        screen.interrupt();
      }
    }

    synchronized void rethrow() {
      if (failure != null) {
        throw failure;
      }
    }

    void end() {
      synchronized (this) {
        over = true;
      }
      keys.interrupt();
    }
  }
}
