package dev.carrel.guest;

import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.FileChange;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the guest says of an exec, in order: one Started, at most one Gap, any Output and Control,
 * one Exited. Nothing follows Exited. A program that could not be started is an Exited alone, with
 * code 126 or 127 and a message.
 */
public sealed interface GuestEvent {
  /**
   * The program runs.
   *
   * @param pid inside the sandbox
   * @param offset of the first output byte that follows
   */
  record Started(long pid, long offset) implements GuestEvent {}

  /** Bytes as the program wrote them, at most 64 KiB; the buffer is the receiver's own. */
  record Output(Channel channel, ByteBuffer bytes) implements GuestEvent {}

  /**
   * Bytes from descriptor 4; output written before them came before. Message borders are the kernel
   * protocol's matter, not kept here.
   */
  record Control(ByteBuffer bytes) implements GuestEvent {}

  /** Output between the asked offset and the next event is no longer kept. */
  record Gap(long bytes) implements GuestEvent {}

  /**
   * The end, as facts. What caused it is for the reader to conclude, with the machine's counters.
   *
   * @param code 0 to 255; null when a signal ended the program
   * @param signal null when it returned
   * @param timedOut the guest ended it because its time was over
   * @param killed the host asked for a signal that ended it
   * @param message why it could not be started, if so
   * @param maxRssBytes of the main process
   * @param left descendants that were still alive
   */
  record Exited(
      @Nullable Integer code,
      @Nullable Integer signal,
      boolean timedOut,
      boolean killed,
      @Nullable String message,
      Duration duration,
      Duration cpu,
      long maxRssBytes,
      int left,
      List<FileChange> changes,
      boolean changesTruncated)
      implements GuestEvent {
    public Exited {
      changes = List.copyOf(changes);
    }
  }
}
