package dev.carrel.control.sandbox;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Few volumes of one tenant are copied at once: an engine has few turns for all tenants, and a copy
 * takes as long as the disk does. Safe for many threads.
 */
final class CopyTurns {
  static final int EACH = 4;

  private static final Duration PATIENCE = Duration.ofMinutes(5);

  // One for each tenant that ever copied: tenants are few.
  private final Map<String, Semaphore> tenants = new ConcurrentHashMap<>();

  /** Copies when it is this tenant's turn. */
  void take(String tenant, Runnable copy) {
    Semaphore turns = tenants.computeIfAbsent(tenant, _ -> new Semaphore(EACH, true));
    try {
      if (!turns.tryAcquire(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "%d volumes of this tenant are being copied, and no turn came in %d ms"
                    .formatted(EACH, PATIENCE.toMillis()))
            .withHint("try again when a snapshot, fork or restore is done");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, "interrupted before the volume was copied", e);
    }
    try {
      copy.run();
    } finally {
      turns.release();
    }
  }
}
