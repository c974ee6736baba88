package dev.carrel.sdk;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** The text of bytes that come in pieces, cut anywhere. For one thread. */
final class Characters {
  private final CharsetDecoder decoder =
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPLACE)
          .onUnmappableCharacter(CodingErrorAction.REPLACE);
  private byte[] begun = new byte[0];

  /** Whole characters; of one that is split, its beginning waits for the next piece. */
  String of(byte[] piece) {
    ByteBuffer bytes = ByteBuffer.allocate(begun.length + piece.length);
    bytes.put(begun).put(piece).flip();
    CharBuffer text = CharBuffer.allocate(bytes.remaining());
    decoder.decode(bytes, text, false);
    begun = new byte[bytes.remaining()];
    bytes.get(begun);
    return text.flip().toString();
  }
}
