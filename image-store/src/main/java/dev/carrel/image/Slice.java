package dev.carrel.image;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** A part of a file. */
final class Slice extends InputStream {
  private final FileChannel channel;
  private long at;
  private long left;

  Slice(FileChannel channel, long offset, long size) {
    this.channel = channel;
    this.at = offset;
    this.left = size;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    if (left == 0) {
      return -1;
    }
    int count = channel.read(ByteBuffer.wrap(bytes, offset, (int) Math.min(length, left)), at);
    if (count > 0) {
      at += count;
      left -= count;
    }
    return count;
  }
}
