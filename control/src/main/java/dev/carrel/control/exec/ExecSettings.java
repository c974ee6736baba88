package dev.carrel.control.exec;

import dev.carrel.spi.DataSize;
import java.time.Duration;
import java.util.Collections;
import java.util.List;

/**
 * Defaults and limits of execs.
 *
 * @param defaultTimeout of one in the foreground that names none; at most {@code maxTimeout}
 * @param maxConcurrent running at once in one sandbox, contexts not counted
 * @param maxRetained ended ones that stay listed in one sandbox
 * @param stdoutChars kept of standard output in a folded result; the middle is cut out
 * @param spill kept on disk of one exec's output, from its beginning
 * @param spillPerSandbox the same for all execs of a sandbox together
 * @param maxStdin bytes of one write to standard input
 */
public record ExecSettings(
    Duration defaultTimeout,
    Duration maxTimeout,
    Duration maxBackgroundTimeout,
    int maxConcurrent,
    int maxRetained,
    int stdoutChars,
    int stderrChars,
    DataSize spill,
    DataSize spillPerSandbox,
    DataSize maxStdin) {

  public ExecSettings {
    // Who lowers the most means those that name no time, too.
    defaultTimeout = Collections.min(List.of(defaultTimeout, maxTimeout));
  }

  /** The longest that a command may ask for. */
  Duration maxTimeout(boolean background) {
    return background ? maxBackgroundTimeout : maxTimeout;
  }

  public static ExecSettings defaults() {
    return new ExecSettings(
        Duration.ofMinutes(2),
        Duration.ofHours(1),
        Duration.ofDays(7),
        64,
        64,
        50_000,
        120_000,
        DataSize.ofMebibytes(64),
        DataSize.ofMebibytes(512),
        DataSize.ofMebibytes(1));
  }
}
