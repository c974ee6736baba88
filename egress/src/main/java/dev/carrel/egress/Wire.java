package dev.carrel.egress;

import java.io.Closeable;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A connection with what was read from it and not used yet. One thread reads, one writes. */
final class Wire implements Closeable {
  // What a Unix socket holds at first is less than one turn of a splice: it would wait each time.
  private static final int SEND_BUFFER = 1024 * 1024;

  private final ByteChannel channel;
  private final Supplier<ByteBuffer> source;
  private @Nullable ByteBuffer input;
  private final Pipes pipes;
  private final Object closing = new Object();
  private boolean widened;

  /**
   * @param input empty; its size bounds what is read ahead
   */
  Wire(ByteChannel channel, ByteBuffer input) {
    this(channel, () -> input, Pipes.none());
  }

  /**
   * @param buffers where its input is taken from by who reads first: with none left, that is whose
   *     connection fails
   * @param pipes for what may pass unseen
   */
  Wire(SocketChannel channel, Buffers buffers, Pipes pipes) {
    this(channel, buffers::take, pipes);
  }

  private Wire(ByteChannel channel, Supplier<ByteBuffer> source, Pipes pipes) {
    this.channel = channel;
    this.source = source;
    this.pipes = pipes;
  }

  /** What was read and not used; moving its position uses it. */
  ByteBuffer input() {
    ByteBuffer taken = input;
    if (taken == null) {
      taken = source.get().clear().flip();
      input = taken;
    }
    return taken;
  }

  /** Nobody may use it any more. */
  void giveBack(Buffers buffers) {
    if (input != null) {
      buffers.giveBack(input);
    }
  }

  /** Reads some more behind what is there; false at the end. */
  boolean fill() throws IOException {
    ByteBuffer into = input().compact();
    try {
      if (!into.hasRemaining()) {
        throw new IOException("more was read ahead than there is room for");
      }
      return channel.read(into) >= 0;
    } finally {
      into.flip();
    }
  }

  /** Reads until so many bytes are there; false when the end comes first. */
  boolean fill(int bytes) throws IOException {
    while (input().remaining() < bytes) {
      if (!fill()) {
        return false;
      }
    }
    return true;
  }

  void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  void write(byte[] bytes) throws IOException {
    write(ByteBuffer.wrap(bytes));
  }

  /** One character is one byte. */
  void write(String text) throws IOException {
    write(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /**
   * Passes on what waits behind an input that is empty, without looking at it; how much that was.
   * Nothing is no end: the next read tells.
   */
  long moveTo(Wire to, long most, Bodies.Meter meter) throws IOException, RefusedException {
    try (Pipes.Pipe pipe = to.channel instanceof SocketChannel ? pipes.take() : null) {
      if (pipe == null) {
        return 0;
      }
      try (Descriptor source = descriptor(pipe);
          Descriptor sink = to.descriptor(pipe)) {
        if (source == null || sink == null) {
          return 0;
        }
        to.widen();
        return new Splice(this, source, to, sink, pipe).run(most, meter);
      }
    }
  }

  private @Nullable Descriptor descriptor(Pipes.Pipe pipe) {
    synchronized (closing) {
      return Descriptor.of((SocketChannel) channel, pipe.state());
    }
  }

  /** TCP finds its own measure. */
  private void widen() throws IOException {
    SocketChannel socket = (SocketChannel) channel;
    if (!widened && socket.getLocalAddress() instanceof UnixDomainSocketAddress) {
      socket.setOption(StandardSocketOptions.SO_SNDBUF, SEND_BUFFER);
    }
    widened = true;
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  /**
   * Says that no more will be written, and throws away what still comes, up to so much: to close
   * with something unread would take the last answer away from who is to read it.
   */
  void letGo(long most) throws IOException {
    if (channel instanceof SocketChannel) {
      endOutput();
      drain(most);
    }
  }

  /** Throws away what comes, up to so much. */
  void drain(long most) throws IOException {
    for (long left = most; left > 0; left -= input().remaining()) {
      input().position(input().limit());
      if (!fill()) {
        return;
      }
    }
  }

  /** What only a socket can do: the other direction stays open. */
  void endOutput() throws IOException {
    ((SocketChannel) channel).shutdownOutput();
  }

  @Override
  public void close() throws IOException {
    synchronized (closing) {
      channel.close();
    }
  }
}
