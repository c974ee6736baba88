package dev.carrel.control.skill;

import dev.carrel.control.ChangedMachines;
import dev.carrel.spi.Engine;
import dev.carrel.spi.SandboxId;
import java.io.InterruptedIOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A real engine, some of whose guests take no new connection for a while. */
final class StandingGuests {
  private final Set<SandboxId> standing = ConcurrentHashMap.newKeySet();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicInteger givenUp = new AtomicInteger();
  private final CountDownLatch over = new CountDownLatch(1);

  void stand(List<SandboxId> ids) {
    standing.addAll(ids);
  }

  void goOn() {
    over.countDown();
  }

  /** How many wait for such a guest now. */
  int waiting() {
    return waiting.get();
  }

  /** How many waited for one in vain. */
  int givenUp() {
    return givenUp.get();
  }

  Engine around(Engine engine) {
    return ChangedMachines.of(
        engine,
        (machine, method) -> {
          if (method.equals("openGuest") && standing.contains(machine.id())) {
            await();
          }
        });
  }

  private void await() throws InterruptedIOException {
    waiting.incrementAndGet();
    try {
      over.await();
    } catch (InterruptedException e) {
      givenUp.incrementAndGet();
      throw new InterruptedIOException("nobody waits any longer");
    } finally {
      waiting.decrementAndGet();
    }
  }
}
