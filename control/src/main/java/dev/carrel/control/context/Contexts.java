package dev.carrel.control.context;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.SandboxId;
import java.util.List;

/** Persistent interpreters: one cell at a time each, the others wait in line. */
@SuppressWarnings("DoNotCallSuggester")
public final class Contexts {

  public Context create(Caller caller, SandboxId sandbox, CreateContext request) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public List<Context> list(Caller caller, SandboxId sandbox) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public Context get(Caller caller, SandboxId sandbox, ContextId context) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  public void delete(Caller caller, SandboxId sandbox, ContextId context) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Stops the running cell and keeps the state; does nothing when no cell runs. */
  public void interrupt(Caller caller, SandboxId sandbox, ContextId context) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Ends the interpreter and starts a fresh one. */
  public Context restart(Caller caller, SandboxId sandbox, ContextId context) {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Runs a cell, live. Returns when it is its turn. */
  public CodeStream start(Caller caller, SandboxId sandbox, ExecuteCode request)
      throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** Runs a cell to its end. Interrupting the thread interrupts the cell. */
  public CodeResult execute(Caller caller, SandboxId sandbox, ExecuteCode request)
      throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }
}
