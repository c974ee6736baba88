package dev.carrel.egress;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** A connection with what was read from it and not used yet. One thread reads, one writes. */
final class Wire implements Closeable {
  private final ByteChannel channel;
  private final ByteBuffer input;

  /**
   * @param input empty; its size bounds what is read ahead
   */
  Wire(ByteChannel channel, ByteBuffer input) {
    this.channel = channel;
    this.input = input.clear().flip();
  }

  /** What was read and not used; moving its position uses it. */
  ByteBuffer input() {
    return input;
  }

  /** Reads some more behind what is there; false at the end. */
  boolean fill() throws IOException {
    input.compact();
    try {
      if (!input.hasRemaining()) {
        throw new IOException("more was read ahead than there is room for");
      }
      return channel.read(input) >= 0;
    } finally {
      input.flip();
    }
  }

  /** Reads until so many bytes are there; false when the end comes first. */
  boolean fill(int bytes) throws IOException {
    while (input.remaining() < bytes) {
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

  /** What only a socket can do: the other direction stays open. */
  void endOutput() throws IOException {
    ((SocketChannel) channel).shutdownOutput();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
