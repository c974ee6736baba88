package dev.carrel.control.admission;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A request's right to go on. Free again when it and all that {@link #hold} gave are closed. */
public final class Place implements AutoCloseable {
  private final Line line;
  private final Duration waited;
  private final AtomicInteger holders = new AtomicInteger(1);
  private final AtomicBoolean closed = new AtomicBoolean();

  Place(Line line, Duration waited) {
    this.line = line;
    this.waited = waited;
  }

  public Duration waited() {
    return waited;
  }

  /** Keeps the place until this is run, once. Only while the place itself is open. */
  public Runnable hold() {
    holders.incrementAndGet();
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

  private void letGo() {
    if (holders.decrementAndGet() == 0) {
      line.free();
    }
  }
}
