package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxId;

/** A feature that keeps something for each sandbox. Called on the thread that ends the sandbox. */
public interface SandboxListener {
  /** The machine is gone; what ran in it has ended. The sandbox is still listed. */
  void ended(SandboxId id);

  /** The sandbox is gone altogether; nothing of it may be kept. */
  void removed(SandboxId id);
}
