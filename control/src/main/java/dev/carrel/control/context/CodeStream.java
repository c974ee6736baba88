package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent.Channel;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A running cell's events. For one thread. Closing it before Done interrupts the cell, and kills
 * the interpreter if that does not help.
 */
public final class CodeStream implements AutoCloseable {
  private static final Duration FOREVER = Duration.ofDays(3650);
  private static final CodeEvent NOTHING =
      new CodeEvent.Output(Channel.STDOUT, ByteBuffer.allocate(0));

  private final CellEvents events;
  private final Runnable cancel;
  private boolean over;

  CodeStream(CellEvents events, Runnable cancel) {
    this.events = events;
    this.cancel = cancel;
  }

  /** Waits for the next event; null after Done. */
  public @Nullable CodeEvent next() throws InterruptedException {
    return next(FOREVER);
  }

  /** As {@link #next()}; an empty Output when nothing came in time. */
  public @Nullable CodeEvent next(Duration patience) throws InterruptedException {
    if (over) {
      return null;
    }
    CodeEvent event = events.take(patience.toNanos());
    over = event instanceof CodeEvent.Done;
    return Objects.requireNonNullElse(event, NOTHING);
  }

  @Override
  public void close() {
    if (!over) {
      over = true;
      cancel.run();
    }
  }
}
