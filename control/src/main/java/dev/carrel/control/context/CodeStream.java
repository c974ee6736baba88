package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent.Channel;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A cell's events. For one thread. Closing it before Done interrupts the cell, and kills the
 * interpreter if that does not help; a cell with a key goes on. What came of it counts towards the
 * memory of all values until then: to be closed when it was passed on, not before.
 */
public final class CodeStream implements AutoCloseable {
  private static final Duration FOREVER = Duration.ofDays(3650);
  private static final CodeEvent NOTHING =
      new CodeEvent.Output(Channel.STDOUT, ByteBuffer.allocate(0));

  private final CellSource events;
  private final Runnable cancel;
  private final Runnable told;
  private final boolean replay;
  private boolean over;

  /**
   * @param cancel called when it is closed before the end
   * @param told called when it is closed: what came may be forgotten
   */
  CodeStream(CellSource events, boolean replay, Runnable cancel, Runnable told) {
    this.events = events;
    this.replay = replay;
    this.cancel = cancel;
    this.told = told;
  }

  /** Whether this is what an earlier request with the same key started. */
  public boolean isReplay() {
    return replay;
  }

  /** The number of the last event; the first of a cell is 1. */
  public long number() {
    return events.taken();
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

  /** The folded result; reads on to the end. */
  public CodeResult result() throws InterruptedException {
    while (true) {
      switch (next()) {
        case CodeEvent.Done(CodeResult result) -> {
          return result;
        }
        case null -> throw new IllegalStateException("the end was taken before");
        default -> {}
      }
    }
  }

  @Override
  public void close() {
    if (!over) {
      over = true;
      cancel.run();
    }
    told.run();
  }
}
