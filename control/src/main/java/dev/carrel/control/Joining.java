package dev.carrel.control;

import dev.carrel.control.context.Contexts;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Joins what an earlier process left in sandboxes, also where that does not go at once. */
final class Joining implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Joining.class);
  private static final Duration PATIENCE = Duration.ofSeconds(3);
  private static final Duration PAUSE = Duration.ofMillis(500);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

  private final Sandboxes sandboxes;
  private final Execs execs;
  private final Contexts contexts;
  private final CountDownLatch closed = new CountDownLatch(1);

  Joining(Sandboxes sandboxes, Execs execs, Contexts contexts) {
    this.sandboxes = sandboxes;
    this.execs = execs;
    this.contexts = contexts;
  }

  void join(RunningSandbox sandbox) {
    // One that goes on waits for this: once somebody uses it, what is new in it cannot be told from
    // what was left. The others are many, and the start of the server waits for them.
    long end = System.nanoTime() + PATIENCE.toNanos();
    boolean joined = joined(sandbox);
    while (!joined && sandbox.paused() && System.nanoTime() - end < 0) {
      LockSupport.parkNanos(PAUSE.toNanos());
      joined = joined(sandbox);
    }
    if (!joined) {
      Thread.ofVirtual().name(sandbox.id() + "-join").start(() -> joinLater(sandbox));
    }
  }

  /** False: it may go better another time. */
  private boolean joined(RunningSandbox sandbox) {
    return tried(
        sandbox,
        () -> {
          // Of one whose guest is silent nothing may be called lost.
          sandbox.guest().list();
          // The answer of a busy interpreter can take its time: nobody waits for that here.
          execs.recover(sandbox, contexts.recover(sandbox));
        });
  }

  /** The commands that are known: of what else is in it nobody can say by then whose it is. */
  private void joinLater(RunningSandbox sandbox) {
    Duration pause = PAUSE;
    try {
      while (!closed.await(pause.toMillis(), TimeUnit.MILLISECONDS)
          && sandboxes.running(sandbox.id()).filter(sandbox::equals).isPresent()) {
        if (!sandbox.paused() && tried(sandbox, () -> execs.recoverKnown(sandbox))) {
          return;
        }
        Duration twice = pause.multipliedBy(2);
        pause = twice.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : twice;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean tried(RunningSandbox sandbox, Runnable work) {
    try {
      work.run();
      return true;
    } catch (SandboxException e) {
      // One sandbox that does not answer must not keep the others from being served.
      LOG.warn("sandbox {}: {}", sandbox.id(), sandbox.explain(e).message());
      return sandbox.died();
    } catch (RuntimeException e) {
      if (closed.getCount() > 0) {
        LOG.error("sandbox {}: what ran in it was not joined", sandbox.id(), e);
      }
      return false;
    }
  }

  /** What is not joined by now is left to the next process. */
  @Override
  public void close() {
    closed.countDown();
  }
}
