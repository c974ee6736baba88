package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxId;

/** The sandboxes of this server. Safe for many threads. */
public final class Sandboxes {

  /** Starts a sandbox, or returns the live one with the same session key. */
  public Sandbox create(Caller caller, CreateSandbox request) {
    throw new UnsupportedOperationException();
  }

  public Sandbox get(Caller caller, SandboxId id) {
    throw new UnsupportedOperationException();
  }

  public SandboxPage list(Caller caller, SandboxQuery query) {
    throw new UnsupportedOperationException();
  }

  public Sandbox patch(Caller caller, SandboxId id, PatchSandbox patch) {
    throw new UnsupportedOperationException();
  }

  /** Removes the sandbox and everything in it, whatever its status; twice is as good as once. */
  public void delete(Caller caller, SandboxId id) {
    throw new UnsupportedOperationException();
  }
}
