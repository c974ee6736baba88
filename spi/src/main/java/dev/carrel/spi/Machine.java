package dev.carrel.spi;

import java.io.IOException;
import java.nio.channels.ByteChannel;
import java.util.Optional;

/** One running sandbox as its engine sees it. Safe for many threads. */
public interface Machine {
  /** Where a machine with a loopback of its own has the relay to its proxy. */
  int PROXY_PORT = 3128;

  SandboxId id();

  /** What was applied to this machine. */
  Isolation isolation();

  /** The limits really in force; they may differ from what was asked. */
  Limits limits();

  /** A fresh connection to the guest, to be used for one operation. */
  ByteChannel openGuest() throws IOException;

  /** The port of 127.0.0.1, as seen inside, that leads to the proxy. */
  default int proxyPort() {
    return PROXY_PORT;
  }

  /** Counters since the start; all zero where the engine cannot measure. */
  Usage usage();

  /** How the machine ended, or empty while it runs. */
  Optional<Death> death();

  /**
   * Puts a warm interpreter into this machine; it is there to be attached to when this returns, and
   * ends at once if it could not come up. False where that is not possible, or not yet: then it is
   * to be started as a command. Never waits for an interpreter to warm up.
   */
  default boolean fork(KernelFork request) {
    return false;
  }

  /**
   * Stops every process where it is, memory kept; idempotent. A paused machine can be destroyed,
   * and stays paused when the server ends.
   *
   * @throws SandboxException {@code NOT_SUPPORTED} where the engine cannot
   */
  default void pause() {
    throw notSupported("pause");
  }

  /** Lets every process go on; idempotent. */
  default void resume() {
    throw notSupported("resume");
  }

  /** Whether {@link #pause} was the last word. */
  default boolean paused() {
    return false;
  }

  /**
   * Changes memory, cpus and pids while it runs; the other limits stay. Returns the limits in
   * force.
   *
   * @throws SandboxException {@code NOT_SUPPORTED} where the engine cannot, {@code WRONG_STATE}
   *     when more is in use than would be allowed
   */
  default Limits limit(Limits wanted) {
    throw notSupported("change limits of");
  }

  /**
   * Ends every process and removes everything of this machine but its volume. Idempotent; returns
   * when all is gone.
   */
  void destroy();

  /** As {@link #destroy}, when its volume is of no use any more and may go with it. */
  default void discard() {
    destroy();
  }

  private SandboxException notSupported(String what) {
    return new SandboxException(
        ErrorCode.NOT_SUPPORTED, "the engine of " + id() + " cannot " + what + " a machine");
  }

  /**
   * What a machine has used.
   *
   * @param oomKills processes that the kernel killed at the memory limit
   * @param pidsRefused forks refused at the process limit
   */
  record Usage(long memoryBytes, long cpuNanos, long pids, long oomKills, long pidsRefused) {
    public static final Usage NONE = new Usage(0, 0, 0, 0, 0);
  }

  /** Why a machine is no more. */
  record Death(Cause cause, String detail) {
    /** The kinds of end, told apart by proof. */
    public enum Cause {
      OUT_OF_MEMORY,
      KILLED,
      CRASHED,
      STOPPED,
      UNKNOWN
    }
  }
}
