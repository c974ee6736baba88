package dev.carrel.server.app;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** What an app sends, by bytes and lines. For one thread. */
final class AppInput extends InputStream {
  private final ReadableByteChannel channel;
  private final ByteBuffer buffer = ByteBuffer.allocate(16 * 1024).flip();

  AppInput(ReadableByteChannel channel) {
    this.channel = channel;
  }

  @Override
  public int read() throws IOException {
    return fill() ? buffer.get() & 0xff : -1;
  }

  /** Returns what is there; waits only when nothing is. */
  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (!fill()) {
      return -1;
    }
    int count = Math.min(length, buffer.remaining());
    buffer.get(target, offset, count);
    return count;
  }

  /**
   * A line without its end, which may lack the carriage return.
   *
   * @param max bytes that it may have
   */
  String line(int max) throws IOException {
    byte[] bytes = new byte[Math.min(max + 1, 256)];
    int length = 0;
    while (true) {
      int next = read();
      if (next < 0) {
        throw new AppBrokeOff("it ended in the middle of a line");
      }
      if (next == '\n') {
        break;
      }
      // One more for a carriage return.
      if (length > max) {
        throw new AppBrokeOff("a line has more than " + max + " bytes");
      }
      if (length == bytes.length) {
        bytes = Arrays.copyOf(bytes, Math.min(max + 1, length * 2));
      }
      bytes[length++] = (byte) next;
    }
    if (length > 0 && bytes[length - 1] == '\r') {
      length--;
    }
    if (length > max) {
      throw new AppBrokeOff("a line has more than " + max + " bytes");
    }
    return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
  }

  private boolean fill() throws IOException {
    while (!buffer.hasRemaining()) {
      buffer.clear();
      int count = channel.read(buffer);
      buffer.flip();
      if (count < 0) {
        return false;
      }
    }
    return true;
  }
}
