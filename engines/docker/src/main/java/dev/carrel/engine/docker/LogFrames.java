package dev.carrel.engine.docker;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A container's output as the daemon tells it: pieces with a header of eight bytes, the last four
 * of them the length.
 */
final class LogFrames {
  private static final int HEADER = 8;

  private LogFrames() {}

  /** What is in the pieces; one that is cut off is left out. */
  static String text(byte[] framed) {
    ByteBuffer rest = ByteBuffer.wrap(framed);
    var text = new StringBuilder();
    while (rest.remaining() >= HEADER) {
      rest.position(rest.position() + Integer.BYTES);
      int length = rest.getInt();
      if (length < 0 || length > rest.remaining()) {
        break;
      }
      byte[] piece = new byte[length];
      rest.get(piece);
      text.append(new String(piece, StandardCharsets.UTF_8));
    }
    return text.toString();
  }
}
