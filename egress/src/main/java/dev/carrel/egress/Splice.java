package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;

/**
 * Bytes that nobody looks at on their way from a socket to a socket, through a pipe: the kernel
 * hands on its pages and copies nothing. It waits within a call of the kernel for a moment at most.
 * Who has to wait longer does so in the channels, where time-outs and closing reach it: for the
 * sender by leaving, for the receiver by a copy of a little of what is in the pipe.
 */
final class Splice {
  // With two quick ends nothing here ever waits in a channel, and others want the processor, too.
  // To offer it costs as much as moving a megabyte.
  private static final Duration TURN = Duration.ofMillis(4);
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
    for (long began = System.nanoTime(); moved < most; ) {
      requireOpen();
      long got = pipe.fill(source, most - moved);
      if (got == 0) {
        break;
      }
      long left = got;
      while (left > 0) {
        long piece = Math.min(left, meter.piece());
        meter.pass(piece);
        deliver(piece, meter);
        left -= piece;
      }
      moved += got;
      if (System.nanoTime() - began > TURN.toNanos()) {
        Thread.yield();
        began = System.nanoTime();
      }
    }
    return moved;
  }

  private void deliver(long bytes, Bodies.Meter meter) throws IOException, RefusedException {
    for (long left = bytes; left > 0; ) {
      requireOpen();
      long sent = pipe.drain(sink, left);
      if (sent == 0) {
        sent = copy(left);
        // It is slow, but something moves.
        meter.pass(0);
      }
      left -= sent;
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
