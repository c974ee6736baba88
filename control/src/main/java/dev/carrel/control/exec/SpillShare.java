package dev.carrel.control.exec;

import java.util.concurrent.atomic.AtomicLong;

/** How much one exec may still write to disk: its own limit within that of its sandbox. */
final class SpillShare {
  private final AtomicLong sandbox;
  private long own;
  private long taken;

  /**
   * @param sandbox what the sandbox has left, shared by its execs
   * @param own what this exec may write at most
   */
  SpillShare(AtomicLong sandbox, long own) {
    this.sandbox = sandbox;
    this.own = own;
  }

  static SpillShare none() {
    return new SpillShare(new AtomicLong(), 0);
  }

  /** Takes this much, or nothing. */
  synchronized boolean take(long bytes) {
    if (bytes > own) {
      return false;
    }
    long left = sandbox.addAndGet(-bytes);
    if (left < 0) {
      sandbox.addAndGet(bytes);
      return false;
    }
    own -= bytes;
    taken += bytes;
    return true;
  }

  synchronized long taken() {
    return taken;
  }
}
