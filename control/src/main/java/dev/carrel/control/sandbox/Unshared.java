package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxId;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Sandboxes that nobody was given but who made them: those may be taken back. Known of the sandbox,
 * not of its machine, and from before anybody can find it. Safe for many threads.
 */
final class Unshared implements SandboxListener {
  private final Set<SandboxId> ids = ConcurrentHashMap.newKeySet();

  /** To be called before there is a row of it. */
  void add(SandboxId id) {
    ids.add(id);
  }

  /** Somebody else is about to get it, or it did not come to be. False: it was not unshared. */
  boolean remove(SandboxId id) {
    return ids.remove(id);
  }

  @Override
  public void ended(SandboxId id) {
    // It is whose it was.
  }

  @Override
  public void removed(SandboxId id) {
    ids.remove(id);
  }
}
