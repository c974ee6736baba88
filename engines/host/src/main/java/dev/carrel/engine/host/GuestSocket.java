package dev.carrel.engine.host;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * The two words an engine says to a guest itself: are you there, and goodbye. See {@code
 * spec/guest-protocol.md}.
 */
public final class GuestSocket {
  private static final int HEADER = 5;
  private static final byte PING = 0x01;
  private static final byte SHUTDOWN = 0x08;
  private static final byte OK = (byte) 0x80;
  private static final byte GRACE = 10;

  private GuestSocket() {}

  public static SocketChannel connect(Path socket) throws IOException {
    return SocketChannel.open(UnixDomainSocketAddress.of(socket));
  }

  /** Whether the guest answers. */
  public static boolean answers(Path socket) throws IOException {
    try (SocketChannel channel = connect(socket)) {
      send(channel, frame(PING, 0));
      ByteBuffer header = ByteBuffer.allocate(HEADER);
      while (header.hasRemaining()) {
        if (channel.read(header) < 0) {
          return false;
        }
      }
      return header.get(HEADER - 1) == OK;
    }
  }

  /** Asks the guest to end everything, and waits until it has hung up. */
  public static void shutdown(SocketChannel channel, long graceMillis) throws IOException {
    ByteBuffer request = frame(SHUTDOWN, 1 + Integer.BYTES + Long.BYTES);
    request.put(GRACE).putInt(Long.BYTES).putLong(graceMillis);
    send(channel, request);
    ByteBuffer ignored = ByteBuffer.allocate(256);
    while (channel.read(ignored.clear()) >= 0) {}
  }

  private static ByteBuffer frame(byte type, int length) {
    return ByteBuffer.allocate(HEADER + length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(length)
        .put(type);
  }

  private static void send(SocketChannel channel, ByteBuffer frame) throws IOException {
    frame.flip();
    while (frame.hasRemaining()) {
      channel.write(frame);
    }
  }
}
