package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent;
import java.nio.ByteBuffer;
import java.time.Duration;

/** What a running cell reports, in order: one Begun first, one Done at the end. */
public sealed interface CodeEvent {
  /**
   * It runs.
   *
   * @param queued how long it waited for its turn
   */
  record Begun(Duration queued) implements CodeEvent {}

  /** Bytes as the program wrote them; the buffer is the receiver's own. */
  record Output(ExecEvent.Channel channel, ByteBuffer bytes) implements CodeEvent {}

  /** The value of the cell; at most one. */
  record Result(MimeBundle bundle) implements CodeEvent {}

  /** A figure, a display call or a rich result. */
  record Display(MimeBundle bundle) implements CodeEvent {}

  /** The cell failed; at most one. */
  record Failed(CodeError error) implements CodeEvent {}

  /** Events that are no longer kept. */
  record Gap(long events) implements CodeEvent {}

  /** The end, with everything folded. */
  record Done(CodeResult result) implements CodeEvent {}
}
