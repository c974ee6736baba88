package dev.carrel.control.context;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A running cell's events. For one thread. Closing it before Done interrupts the cell, and kills
 * the interpreter if that does not help.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class CodeStream implements AutoCloseable {
  CodeStream() {}

  /** Waits for the next event; null after Done. */
  public @Nullable CodeEvent next() throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** As {@link #next()}; an empty Output when nothing came in time. */
  public @Nullable CodeEvent next(Duration patience) throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  @Override
  public void close() {
    throw dev.carrel.control.telemetry.Soon.here();
  }
}
