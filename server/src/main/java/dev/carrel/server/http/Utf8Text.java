package dev.carrel.server.http;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * One stream's bytes as text. A character that is cut by the end of a piece waits for the next one;
 * what is not UTF-8 becomes U+FFFD.
 */
public final class Utf8Text {
  private static final int LONGEST = 4;

  private final CharsetDecoder decoder =
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPLACE)
          .onUnmappableCharacter(CodingErrorAction.REPLACE);
  private final ByteBuffer pending = ByteBuffer.allocate(LONGEST);

  public String decode(ByteBuffer piece) {
    ByteBuffer bytes = piece;
    if (pending.position() > 0) {
      bytes = ByteBuffer.allocate(pending.position() + piece.remaining());
      bytes.put(pending.flip()).put(piece.duplicate()).flip();
      pending.clear();
    } else {
      bytes = bytes.duplicate();
    }
    CharBuffer text = CharBuffer.allocate(bytes.remaining() + 1);
    decoder.decode(bytes, text, false);
    pending.put(bytes);
    return text.flip().toString();
  }

  /** Bytes of a cut character that wait for the next piece. */
  public int pending() {
    return pending.position();
  }

  /** What is left at the end of the stream. */
  public String end() {
    CharBuffer text = CharBuffer.allocate(LONGEST);
    decoder.decode(pending.flip(), text, true);
    decoder.flush(text);
    pending.clear();
    decoder.reset();
    return text.flip().toString();
  }
}
