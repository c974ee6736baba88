package dev.carrel.egress;

import java.lang.foreign.MemorySegment;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * A socket under a number of its own. It stays that socket's until it is closed, even when the
 * channel is closed before; the peer learns of an end only when both are.
 */
record Descriptor(MemorySegment state, int number) implements AutoCloseable {
  /**
   * Null when the channel is closed, when there are no descriptors left, or when the socket would
   * make its user wait. The caller sees to it that nobody closes the channel meanwhile.
   */
  static @Nullable Descriptor of(SocketChannel channel, MemorySegment state) {
    if (!channel.isOpen()) {
      return null;
    }
    int number = Libc.duplicate(state, channel);
    if (number < 0) {
      return null;
    }
    var descriptor = new Descriptor(state, number);
    if (Libc.waits(state, number)) {
      descriptor.close();
      return null;
    }
    return descriptor;
  }

  @Override
  public void close() {
    Libc.close(state, number);
  }
}
