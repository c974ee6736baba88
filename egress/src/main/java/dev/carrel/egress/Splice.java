package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;

/**
 * Bytes that nobody looks at on their way from a socket to a socket, through a pipe: the kernel
 * hands on its pages and copies nothing. It never waits within a call of the kernel. Who has to
 * wait does so in the channels, where time-outs and closing reach it: for the sender by leaving,
 * for the receiver by a copy of a little of what is in the pipe.
 */
final class Splice {
  private static final int TURN = 16;
  // Enough to wait with. A Unix socket tells of room when three quarters of it are free.
  private static final int LITTLE = 4 * 1024;

  private final Wire from;
  private final Descriptor source;
  private final Wire to;
  private final Descriptor sink;
  private final Pipes.Pipe pipe;

  Splice(Wire from, Descriptor source, Wire to, Descriptor sink, Pipes.Pipe pipe) {
    this.from = from;
    this.source = source;
    this.to = to;
    this.sink = sink;
    this.pipe = pipe;
  }

  /** As long as there is something to move; how much it was. */
  @SuppressWarnings("ThreadPriorityCheck") // virtual threads take turns only when they offer it
  long run(long most, Bodies.Meter meter) throws IOException, RefusedException {
    long moved = 0;
    for (int turn = 1; moved < most; turn++) {
      requireOpen();
      long got = pipe.fill(source, most - moved);
      if (got == 0) {
        break;
      }
      // Counted in the pieces in which copies are, so that budgets and paces know no difference.
      for (long left = got; left > 0; left -= Math.min(left, Buffers.SIZE)) {
        long piece = Math.min(left, Buffers.SIZE);
        meter.pass(piece);
        deliver(piece);
      }
      moved += got;
      // With two quick ends nothing here ever waits, and others want the processor, too.
      if (turn % TURN == 0) {
        Thread.yield();
      }
    }
    return moved;
  }

  private void deliver(long bytes) throws IOException {
    for (long left = bytes; left > 0; ) {
      requireOpen();
      long sent = pipe.drain(sink, left);
      left -= sent > 0 ? sent : copy(left);
    }
  }

  /** The receiver is slow or gone: its channel waits, or tells. */
  private long copy(long most) throws IOException {
    // Nothing is in it: what was read before has been passed on.
    ByteBuffer buffer = from.input().clear();
    try {
      pipe.read(buffer.limit((int) Math.min(most, LITTLE)));
      int bytes = buffer.flip().remaining();
      to.write(buffer);
      return bytes;
    } finally {
      buffer.clear().flip();
    }
  }

  /** The descriptors would go on after the channels were closed. */
  private void requireOpen() throws ClosedChannelException {
    if (!from.isOpen() || !to.isOpen()) {
      throw new ClosedChannelException();
    }
  }
}
