package dev.carrel.spi;

import java.io.IOException;
import java.nio.channels.ByteChannel;
import java.util.Optional;

/** One running sandbox as its engine sees it. Safe for many threads. */
public interface Machine {
  SandboxId id();

  /** What was applied to this machine. */
  Isolation isolation();

  /** The limits really in force; they may be lower than asked where the engine says so. */
  Limits limits();

  /** A fresh connection to the guest, to be used for one operation. */
  ByteChannel openGuest() throws IOException;

  /** Counters since the start; all zero where the engine cannot measure. */
  Usage usage();

  /** How the machine ended, or empty while it runs. */
  Optional<Death> death();

  /**
   * Ends every process and removes everything of this machine. Idempotent; returns when all is
   * gone.
   */
  void destroy();

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
