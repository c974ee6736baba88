package dev.carrel.control.exec;

import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An exec's events from some offset on, and then live. For one thread. Closing the stream of a
 * foreground exec that still runs kills its whole process tree; closing any other only stops
 * looking.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class ExecStream implements AutoCloseable {
  private final ExecId id;

  ExecStream(ExecId id) {
    this.id = id;
  }

  public ExecId id() {
    return id;
  }

  /** Waits for the next event; null after Exited. */
  public @Nullable ExecEvent next() throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** As {@link #next()}, but throws nothing and returns {@link #NOTHING} when the time is over. */
  public @Nullable ExecEvent next(Duration patience) throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** What {@link #next(Duration)} returns when nothing came in time. */
  public static final ExecEvent NOTHING = new ExecEvent.Gap(0);

  /** Where to resume after the events seen so far. */
  public long offset() {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  /** The folded result; waits for the end. */
  public ExecResult result() throws InterruptedException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  @Override
  public void close() {
    throw dev.carrel.control.telemetry.Soon.here();
  }
}
