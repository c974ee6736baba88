package dev.carrel.control.sandbox;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after the sandboxes from time to time: notices dead machines, stops idle ones, removes what
 * has been over for long, and writes counters.
 */
public final class SandboxWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SandboxWatch.class);
  private static final Duration SWEEP_INTERVAL = Duration.ofSeconds(30);

  private final Sandboxes sandboxes;
  private final SandboxSettings settings;
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Thread thread;
  private Instant nextSweep = Instant.now();

  public SandboxWatch(Sandboxes sandboxes, SandboxSettings settings) {
    this.sandboxes = sandboxes;
    this.settings = settings;
    this.thread = Thread.ofVirtual().name("sandbox-watch").start(this::watch);
  }

  /** Writes the last counters and stops watching. */
  @Override
  public void close() {
    stop.countDown();
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    saveCounters();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void watch() {
    try {
      while (!stop.await(settings.watchInterval().toMillis(), TimeUnit.MILLISECONDS)) {
        try {
          look();
        } catch (RuntimeException e) {
          // The top of a loop: one bad round must not end the watch.
          LOG.error("a look at the sandboxes failed", e);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void look() {
    Instant now = Instant.now();
    for (RunningSandbox sandbox : sandboxes.running()) {
      if (sandbox.row().status() != SandboxStatus.RUNNING) {
        continue;
      }
      if (sandbox.machine().death().isPresent()) {
        sandboxes.died(sandbox);
      } else if (sandbox.idle(now)) {
        sandboxes.end(sandbox, SandboxStatus.STOPPED, Failures.idle(sandbox.row().idleTimeout()));
      }
    }
    saveCounters();
    if (now.isAfter(nextSweep)) {
      nextSweep = now.plus(SWEEP_INTERVAL);
      sandboxes
          .store()
          .endedBefore(now.minus(settings.stoppedRetention()))
          .forEach(sandboxes::remove);
      sandboxes.store().destroyed().forEach(sandboxes::remove);
    }
  }

  private void saveCounters() {
    for (RunningSandbox sandbox : sandboxes.running()) {
      if (sandbox.takeUnsaved()) {
        sandboxes.store().note(sandbox.id(), sandbox.lastActivity(), sandbox.counters());
      }
    }
  }
}
