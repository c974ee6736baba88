package dev.carrel.control.web;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Places to parse pages in. A tree of a page is many times as large as the page, so there are few;
 * and how long it takes is up to a stranger, so of each tenant there is one at a time. Safe for
 * many threads.
 */
final class Trees {
  private static final int AT_ONCE = 2;

  private final Semaphore all = new Semaphore(AT_ONCE, true);
  private final Map<String, Semaphore> tenants = new ConcurrentHashMap<>();
  private final Duration patience;

  /**
   * @param patience how long to wait for a place
   */
  Trees(Duration patience) {
    this.patience = patience;
  }

  /** Makes something of a page. */
  interface Parsing<T, E extends Exception> {
    T parse() throws E;
  }

  /**
   * Does this when there is a place.
   *
   * @throws SandboxException {@code WEB_FAILED} when there is none in time
   */
  <T, E extends Exception> T parse(String tenant, Parsing<T, E> parsing)
      throws E, InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    Semaphore own = tenants.computeIfAbsent(tenant, _ -> new Semaphore(1, true));
    // Who waits for his own takes no place from others.
    take(own, end);
    try {
      take(all, end);
      try {
        return parsing.parse();
      } finally {
        all.release();
      }
    } finally {
      own.release();
    }
  }

  private static void take(Semaphore places, long end) throws InterruptedException {
    if (!places.tryAcquire(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
      throw new SandboxException(
              ErrorCode.WEB_FAILED, "the server is busy with other pages that take long to read")
          .withHint("try again in a moment");
    }
  }
}
