package dev.carrel.control.admission;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A request's right to go on. Free again when it and all that {@link #hold} gave are closed. */
public final class Place implements AutoCloseable {
  private final Line line;
  private final @Nullable SandboxId sandbox;
  private final Duration waited;
  private final AtomicBoolean closed = new AtomicBoolean();
  private int holders = 1; // guarded by this
  private boolean lent; // guarded by this

  /**
   * @param sandbox what it is for, if that exists already
   */
  Place(Line line, @Nullable SandboxId sandbox, Duration waited) {
    this.line = line;
    this.sandbox = sandbox;
    this.waited = waited;
  }

  public Duration waited() {
    return waited;
  }

  /** Keeps the place until this is run, once. Only while the place itself is open. */
  public synchronized Runnable hold() {
    holders++;
    var over = new AtomicBoolean();
    return () -> {
      if (over.compareAndSet(false, true)) {
        letGo();
      }
    };
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      letGo();
    }
  }

  @Nullable SandboxId sandbox() {
    return sandbox;
  }

  /** Others may have it until it is taken back: what it is for stands still. */
  synchronized void lend() {
    if (holders > 0 && !lent) {
      lent = true;
      line.free();
    }
  }

  /** What it is for goes on, and waits for nobody. */
  synchronized void takeBack() {
    if (holders > 0 && lent) {
      lent = false;
      line.takeAnyway();
    }
  }

  private synchronized void letGo() {
    holders--;
    if (holders == 0) {
      line.forget(this);
      if (!lent) {
        line.free();
      }
    }
  }
}
