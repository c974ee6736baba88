package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Recognises a server's wish that the client says hello again (RFC 8446, 4.1.4). The second hello
 * is in the clear, too, and some servers believe the name in that one.
 */
final class HelloRetry {
  private static final byte HANDSHAKE = 22;
  private static final byte SERVER_HELLO = 2;
  private static final int TYPE_AT = 5;
  private static final int RANDOM_AT = 11;
  private static final byte[] RANDOM =
      HexFormat.of().parseHex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c");

  private HelloRetry() {}

  /** Looks at the server's first bytes and leaves them where they are. */
  static boolean isAskedBy(Wire server) throws IOException {
    if (!server.fill(1) || server.input().get(server.input().position()) != HANDSHAKE) {
      return false;
    }
    if (!server.fill(RANDOM_AT + RANDOM.length)) {
      return false;
    }
    ByteBuffer input = server.input();
    byte[] random = new byte[RANDOM.length];
    input.get(input.position() + RANDOM_AT, random);
    return input.get(input.position() + TYPE_AT) == SERVER_HELLO && Arrays.equals(random, RANDOM);
  }
}
