package dev.carrel.control.context;

import dev.carrel.control.sandbox.Interpreter;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;

/**
 * Defaults and limits of contexts and cells.
 *
 * @param defaultTimeout of a cell that names none; at most {@code maxTimeout}
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

  public ContextSettings {
    // Who lowers the most means cells that name no time, too.
    defaultTimeout = Collections.min(List.of(defaultTimeout, maxTimeout));
  }

  /** How long a cell may take; throws when it may not be run at all. */
  Duration check(ExecuteCode request) {
    String code = request.code();
    // A character has at most three bytes in UTF-8: most code needs no closer look.
    if (code.length() * 3L > maxCode.bytes()
        && code.getBytes(StandardCharsets.UTF_8).length > maxCode.bytes()) {
      throw new SandboxException(
              ErrorCode.TOO_LARGE, "code: more than " + maxCode.bytes() + " bytes")
          .withHint("write it to a file and import that");
    }
    Duration asked = request.timeout();
    if (asked == null) {
      return defaultTimeout;
    }
    if (!asked.isPositive() || asked.compareTo(maxTimeout) > 0) {
      throw SandboxException.invalid(
          "timeout_seconds", "must be positive and at most " + maxTimeout.toSeconds());
    }
    return asked;
  }

  /** The kind of interpreter that is meant: one without a preload has the usual one. */
  Interpreter settle(Interpreter kind) {
    return kind.preload() == null ? new Interpreter(kind.language(), preload) : kind;
  }

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
