package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxId;
import org.jdbi.v3.core.Handle;

/**
 * A feature that keeps something for each sandbox. Called on the thread that changes the sandbox.
 */
public interface SandboxListener {
  /** Somebody asks for a sandbox; throws to refuse before anything is made. */
  default void requested(Caller caller, CreateSandbox request) {}

  /** Its machine runs, or was found running; nobody else can use it yet. */
  default void started(RunningSandbox sandbox) {}

  /** All that runs in it stands still from now on. */
  default void paused(SandboxId id) {}

  /** What stood still is about to go on. */
  default void resumed(SandboxId id) {}

  /** The machine is gone; what ran in it has ended. The sandbox is still listed. */
  void ended(SandboxId id);

  /** The sandbox is gone altogether; nothing of it may be kept but rows. */
  void removed(SandboxId id);

  /**
   * Removes its rows, in the transaction that removes the sandbox's own: what is not in there is
   * one more for everybody to wait for.
   */
  default void erase(Handle handle, SandboxId id) {}
}
