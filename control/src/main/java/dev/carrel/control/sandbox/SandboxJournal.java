package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxId;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** Keeps what became of sandboxes and who wanted it. */
public interface SandboxJournal {
  /**
   * Called in the transaction that changes the sandbox's row: both are, or neither is.
   *
   * @param step what became of it, such as {@code created} or {@code stopped}
   * @param cause why, in a word
   * @param principal who asked, or the server itself
   */
  void moved(Handle handle, Sandbox now, String step, String cause, String principal);

  /**
   * Notes what a caller did; returns once that is written.
   *
   * @param tenant whose thing it was done to
   * @param sandbox null when it is about none
   * @param action two words such as {@code volume.delete}
   * @param subject what it was done to
   */
  void done(
      Caller caller,
      String tenant,
      String namespace,
      @Nullable SandboxId sandbox,
      String action,
      String subject);
}
