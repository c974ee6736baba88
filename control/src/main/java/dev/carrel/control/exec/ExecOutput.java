package dev.carrel.control.exec;

import dev.carrel.spi.ExecEvent;
import java.util.List;

/**
 * A piece of an exec's output.
 *
 * @param from offset of the first byte of {@code chunks}; later than asked when {@code lostBytes}
 *     are no longer kept
 * @param next the offset to ask for next
 * @param end bytes written so far
 * @param running whether more can come
 */
public record ExecOutput(
    long from,
    long next,
    long end,
    long lostBytes,
    boolean running,
    List<ExecEvent.Output> chunks) {
  public ExecOutput {
    chunks = List.copyOf(chunks);
  }
}
