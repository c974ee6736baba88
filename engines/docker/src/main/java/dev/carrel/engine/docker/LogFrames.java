package dev.carrel.engine.docker;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * A container's output as the daemon tells it: pieces with a header of eight bytes, the last four
 * of them the length.
 */
final class LogFrames {
  private static final int HEADER = 8;
  private static final int MAX_LINE = 8 << 10;

  private LogFrames() {}

  /** Each line as it comes, until nothing more does; of one that is too long the beginning. */
  static void lines(InputStream framed, Consumer<String> said) throws IOException {
    var line = new ByteArrayOutputStream();
    byte[] header = new byte[HEADER];
    byte[] piece = new byte[MAX_LINE];
    while (framed.readNBytes(header, 0, HEADER) == HEADER) {
      int left = ByteBuffer.wrap(header).getInt(Integer.BYTES);
      while (left > 0) {
        int count = framed.read(piece, 0, Math.min(left, piece.length));
        if (count < 0) {
          throw new EOFException("the daemon hung up within a line");
        }
        split(piece, count, line, said);
        left -= count;
      }
    }
    if (line.size() > 0) {
      said.accept(line.toString(StandardCharsets.UTF_8));
    }
  }

  private static void split(
      byte[] piece, int count, ByteArrayOutputStream line, Consumer<String> said) {
    for (int i = 0; i < count; i++) {
      if (piece[i] == '\n') {
        said.accept(line.toString(StandardCharsets.UTF_8).stripTrailing());
        line.reset();
      } else if (line.size() < MAX_LINE) {
        line.write(piece[i]);
      }
    }
  }

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
