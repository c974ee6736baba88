package dev.carrel.control.exec;

import dev.carrel.control.artifact.Signed;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.FileChange;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An exec that has ended, folded into one answer.
 *
 * @param exitCode for a signal 128 + its number
 * @param queued how long it waited for its turn before it began
 * @param hint what to do about the cause; null when there is nothing to say
 * @param message why it could not be started, if so
 * @param signed files that it left, in the folder of outputs or as was named
 */
public record ExecResult(
    ExecId id,
    int exitCode,
    @Nullable Integer signal,
    CapturedText stdout,
    CapturedText stderr,
    Duration queued,
    Duration duration,
    boolean timedOut,
    ExecEvent.Cause cause,
    @Nullable String hint,
    @Nullable String message,
    long outputEnd,
    boolean spillTruncated,
    List<FileChange> filesChanged,
    boolean filesChangedTruncated,
    Signed signed) {
  public ExecResult {
    filesChanged = List.copyOf(filesChanged);
  }
}
