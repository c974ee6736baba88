package dev.carrel.control.context;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Preload;
import java.time.Duration;

/**
 * Defaults and limits of contexts and cells.
 *
 * @param interruptGrace from the interrupt to the kill
 * @param startTimeout for an interpreter to become ready
 * @param preload what a Python context's warm interpreter has imported unless the request says
 * @param warmAtStart whether that interpreter is made ready when the server starts, not at first
 *     use
 * @param maxQueued cells waiting for one context
 * @param maxDisplay of all displays of one cell together; what is over it is left out and said so
 * @param maxFrame of one value from a kernel; a larger one is left out and said so
 */
public record ContextSettings(
    Duration defaultTimeout,
    Duration maxTimeout,
    Duration interruptGrace,
    Duration startTimeout,
    Preload preload,
    boolean warmAtStart,
    int maxContexts,
    int maxQueued,
    DataSize maxCode,
    DataSize maxDisplay,
    DataSize maxFrame,
    int stdoutChars,
    int stderrChars,
    int resultChars,
    int tracebackChars) {

  public static ContextSettings defaults() {
    return new ContextSettings(
        Duration.ofSeconds(30),
        Duration.ofHours(1),
        Duration.ofSeconds(2),
        Duration.ofMinutes(1),
        Preload.PLAIN,
        false,
        16,
        16,
        DataSize.ofMebibytes(4),
        DataSize.ofMebibytes(16),
        DataSize.ofMebibytes(16),
        50_000,
        120_000,
        30_000,
        8_000);
  }
}
