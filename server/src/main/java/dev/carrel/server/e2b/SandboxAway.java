package dev.carrel.server.e2b;

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

  Body body() {
    return new Body(sandbox, String.valueOf(getMessage()), 502);
  }

  /** As it is written. */
  record Body(String sandboxId, String message, int code) {}
}
