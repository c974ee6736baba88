package dev.carrel.control.context;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.SandboxId;
import java.util.List;

/** Persistent interpreters: one cell at a time each, the others wait in line. */
public final class Contexts {

  public Context create(Caller caller, SandboxId sandbox, CreateContext request) {
    throw new UnsupportedOperationException();
  }

  public List<Context> list(Caller caller, SandboxId sandbox) {
    throw new UnsupportedOperationException();
  }

  public Context get(Caller caller, SandboxId sandbox, ContextId context) {
    throw new UnsupportedOperationException();
  }

  public void delete(Caller caller, SandboxId sandbox, ContextId context) {
    throw new UnsupportedOperationException();
  }

  /** Stops the running cell and keeps the state; does nothing when no cell runs. */
  public void interrupt(Caller caller, SandboxId sandbox, ContextId context) {
    throw new UnsupportedOperationException();
  }

  /** Ends the interpreter and starts a fresh one. */
  public Context restart(Caller caller, SandboxId sandbox, ContextId context) {
    throw new UnsupportedOperationException();
  }

  /** Runs a cell, live. Returns when it is its turn. */
  public CodeStream start(Caller caller, SandboxId sandbox, ExecuteCode request)
      throws InterruptedException {
    throw new UnsupportedOperationException();
  }

  /** Runs a cell to its end. Interrupting the thread interrupts the cell. */
  public CodeResult execute(Caller caller, SandboxId sandbox, ExecuteCode request)
      throws InterruptedException {
    throw new UnsupportedOperationException();
  }
}
