package dev.carrel.control.exec;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.util.List;

/** Runs commands in sandboxes. Safe for many threads. */
@SuppressWarnings("DoNotCallSuggester")
public final class Execs {

  /** Starts a command; the stream's first event is Started, or Exited when it could not start. */
  public ExecStream start(Caller caller, SandboxId sandbox, Command command, boolean background) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Runs a command to its end. Interrupting the thread kills the command's whole tree. */
  public ExecResult run(Caller caller, SandboxId sandbox, Command command)
      throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Newest first. */
  public List<Exec> list(Caller caller, SandboxId sandbox) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public Exec get(Caller caller, SandboxId sandbox, ExecId exec) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** The folded result of an ended exec; WRONG_STATE while it runs. */
  public ExecResult result(Caller caller, SandboxId sandbox, ExecId exec) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Output that is there now, at most {@code maxBytes} from {@code from} on. */
  public ExecOutput output(Caller caller, SandboxId sandbox, ExecId exec, long from, int maxBytes) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Replays from {@code from} and goes on live. */
  public ExecStream follow(Caller caller, SandboxId sandbox, ExecId exec, long from) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public void signal(Caller caller, SandboxId sandbox, ExecId exec, int signal, SignalScope scope) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /**
   * Writes standard input; blocks while the program does not read.
   *
   * @param end whether nothing more will come
   */
  public void write(Caller caller, SandboxId sandbox, ExecId exec, ByteBuffer bytes, boolean end) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public void resize(Caller caller, SandboxId sandbox, ExecId exec, Command.TerminalSize size) {
    throw dev.carrel.control.telemetry.Soon.here();
  }
}
