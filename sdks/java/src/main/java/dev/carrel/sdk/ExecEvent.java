package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a command reports, in order: any Queued, one Started, any Output and Gap, one Exited.
 * Nothing follows Exited. A command that could not be started is an Exited with code 126 or 127
 * alone.
 */
public sealed interface ExecEvent {
  /**
   * It waits for its turn on a busy server.
   *
   * @param position 1 is the next
   */
  record Queued(int position) implements ExecEvent {}

  /**
   * @param pid inside the sandbox
   * @param offset of the first output byte that follows
   */
  record Started(String id, long pid, long offset) implements ExecEvent {}

  /**
   * Bytes as the program wrote them.
   *
   * @param next the offset to resume from, with {@link Sandbox#attach}
   * @param text whole characters: one that is split comes with its last byte
   */
  // A byte array for speed; equality of events is of no use to anybody.
  @SuppressWarnings("ArrayRecordComponent")
  record Output(Channel channel, byte[] bytes, long next, String text) implements ExecEvent {}

  /** Output that is no longer kept. */
  record Gap(long bytes) implements ExecEvent {}

  /** The end; see {@link ExecResult} for the fields. */
  record Exited(
      String id,
      int exitCode,
      @Nullable Integer signal,
      String cause,
      boolean timedOut,
      long outputBytes,
      double queuedMs,
      double durationMs,
      double cpuMs,
      long maxRssBytes,
      int processesLeft,
      List<FileChange> filesChanged,
      boolean filesChangedTruncated,
      List<ArtifactInfo> artifacts,
      List<SignedArtifacts.Skipped> artifactsSkipped,
      boolean artifactsTruncated,
      @Nullable String message,
      @Nullable String hint)
      implements ExecEvent {}

  /** Which stream; a terminal's output is STDOUT. */
  enum Channel {
    STDOUT,
    STDERR
  }
}
