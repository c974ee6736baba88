package dev.carrel.spi;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a command reports, in order: one Started, any Output and Gap, one Exited. Nothing follows
 * Exited. A command that could not be started is an Exited with code 126 or 127 alone.
 */
public sealed interface ExecEvent {
  /**
   * @param pid inside the sandbox
   * @param offset of the first output byte that follows
   */
  record Started(long pid, long offset) implements ExecEvent {}

  /** Bytes as the program wrote them; the buffer is the receiver's own. */
  record Output(Channel channel, ByteBuffer bytes) implements ExecEvent {}

  /** Output between the asked offset and the next event is no longer kept. */
  record Gap(long bytes) implements ExecEvent {}

  /**
   * The end.
   *
   * @param code the exit code; for a signal 128 + its number, as shells say it
   * @param signal null when the program returned
   * @param message why it could not be started, if so
   * @param left descendants that are still alive
   */
  record Exited(
      int code,
      @Nullable Integer signal,
      Cause cause,
      Duration duration,
      Duration cpu,
      long maxRssBytes,
      int left,
      List<FileChange> changes,
      boolean changesTruncated,
      @Nullable String message)
      implements ExecEvent {
    public Exited {
      changes = List.copyOf(changes);
    }
  }

  /** Which stream; a terminal's output is STDOUT. */
  enum Channel {
    STDOUT,
    STDERR
  }

  /** Why it ended, told apart by proof. */
  enum Cause {
    RETURNED,
    NOT_STARTED,
    TIMED_OUT,
    KILLED,
    SIGNALLED,
    CRASHED,
    OUT_OF_MEMORY,
    PIDS_LIMIT,
    SANDBOX_LOST
  }
}
