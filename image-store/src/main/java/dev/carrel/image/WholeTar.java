package dev.carrel.image;

import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * A tar whose sender has no other way to say that it broke off: it must end as a tar does, with two
 * blocks of nothing.
 */
final class WholeTar extends FilterInputStream {
  private static final int END = 1024;

  private int zeros;

  WholeTar(InputStream in) {
    super(in);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    int got = in.read(bytes, offset, length);
    if (got < 0 && zeros < END) {
      throw new EOFException("the archive broke off");
    }
    int trailing = 0;
    while (trailing < got && bytes[offset + got - 1 - trailing] == 0) {
      trailing++;
    }
    if (got >= 0) {
      zeros = trailing == got ? Math.min(END, zeros + got) : Math.min(END, trailing);
    }
    return got;
  }
}
