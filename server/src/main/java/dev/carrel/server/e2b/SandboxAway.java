package dev.carrel.server.e2b;

import dev.carrel.spi.SandboxId;

/** There is no machine to ask: clients know this by status 502. */
final class SandboxAway extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String sandbox;

  private SandboxAway(String sandbox, String message) {
    super(message, null, false, false);
    this.sandbox = sandbox;
  }

  static SandboxAway notRunning(String sandbox) {
    return new SandboxAway(sandbox, "The sandbox was not found");
  }

  static SandboxAway portClosed(SandboxId sandbox) {
    return new SandboxAway(sandbox.value(), "The sandbox is running but port is not open");
  }

  Body body() {
    return new Body(sandbox, String.valueOf(getMessage()), 502);
  }

  /** As it is written. */
  record Body(String sandboxId, String message, int code) {}
}
