package dev.carrel.control.sandbox;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Little of one tenant's long work is done at once: an engine has few turns for all tenants. Safe
 * for many threads.
 */
final class TenantTurns {
  static final int EACH = 4;

  private final String kind;
  private final Duration patience;

  // One for each tenant that ever had work: tenants are few.
  private final Map<String, Semaphore> tenants = new ConcurrentHashMap<>();

  /**
   * @param kind what it is, in the plural, for who waits in vain
   */
  TenantTurns(String kind, Duration patience) {
    this.kind = kind;
    this.patience = patience;
  }

  /**
   * As {@link Bounded#call}, when it is this tenant's turn: the limit begins then, so that nothing
   * is begun for a caller who has gone. What comes too late keeps its turn until it is done.
   */
  <T> T call(String tenant, String what, Duration limit, Supplier<T> work, Consumer<T> tooLate) {
    Semaphore turns = await(tenant);
    return Bounded.call(
        what,
        limit,
        () -> {
          try {
            return work.get();
          } finally {
            turns.release();
          }
        },
        tooLate);
  }

  private Semaphore await(String tenant) {
    Semaphore turns = tenants.computeIfAbsent(tenant, _ -> new Semaphore(EACH, true));
    try {
      if (turns.tryAcquire(patience.toMillis(), TimeUnit.MILLISECONDS)) {
        return turns;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, "interrupted while other " + kind + " were under way", e);
    }
    throw new SandboxException(
            ErrorCode.LIMIT_REACHED,
            "%d %s of this tenant are under way, and no turn came in %d ms"
                .formatted(EACH, kind, patience.toMillis()))
        .withHint("try again when one of them is done");
  }
}
