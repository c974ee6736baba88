package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent;
import java.nio.ByteBuffer;

/** What a running cell reports, in order; one Done ends it. */
public sealed interface CodeEvent {
  /** Bytes as the program wrote them; the buffer is the receiver's own. */
  record Output(ExecEvent.Channel channel, ByteBuffer bytes) implements CodeEvent {}

  /** The value of the cell; at most one. */
  record Result(MimeBundle bundle) implements CodeEvent {}

  /** A figure, a display call or a rich result. */
  record Display(MimeBundle bundle) implements CodeEvent {}

  /** The cell failed; at most one. */
  record Failed(CodeError error) implements CodeEvent {}

  /** The end, with everything folded. */
  record Done(CodeResult result) implements CodeEvent {}
}
