package dev.carrel.control.context;

import dev.carrel.control.exec.CapturedText;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.Language;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A cell that has ended.
 *
 * @param result null when the cell has no value
 * @param queued how long it waited for its turn
 * @param displayOutputs the richest representation of each display
 * @param cause RETURNED when the interpreter lives on, however the cell ended; TIMED_OUT; else why
 *     the interpreter died
 * @param truncated whether a result, traceback or display was cut or left out
 */
public record CodeResult(
    boolean success,
    CapturedText stdout,
    CapturedText stderr,
    @Nullable MimeBundle result,
    @Nullable CodeError error,
    List<MimeBundle.Item> displayOutputs,
    long executionCount,
    State state,
    ContextId context,
    Language language,
    Duration queued,
    Duration duration,
    ExecEvent.Cause cause,
    boolean timedOut,
    boolean interrupted,
    boolean truncated,
    @Nullable String hint) {
  public CodeResult {
    displayOutputs = List.copyOf(displayOutputs);
  }

  /** The same, failed because it could not be put on record. */
  CodeResult unrecorded(String reason) {
    return new CodeResult(
        false,
        stdout,
        stderr,
        result,
        new CodeError("NotRecorded", "the cell ran, and this could not be recorded: " + reason, ""),
        displayOutputs,
        executionCount,
        state,
        context,
        language,
        queued,
        duration,
        cause,
        timedOut,
        interrupted,
        truncated,
        "see to the disk of the server; what the cell did has been done");
  }

  /** Whether variables survived this cell. */
  public enum State {
    KEPT,
    LOST;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
