package dev.carrel.cli;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Keys, of which one, Ctrl-], is for us: what was typed before it is still handed on. */
final class LeavingInput extends FilterInputStream {
  private static final int LEAVE = 0x1D;

  private final Runnable onLeave;
  private boolean leaving;

  LeavingInput(InputStream keys, Runnable onLeave) {
    super(keys);
    this.onLeave = onLeave;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    int count;
    do {
      count = read(one, 0, 1);
    } while (count == 0);
    return count < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    if (leaving) {
      onLeave.run();
      return -1;
    }
    int count = super.read(buffer, offset, length);
    for (int i = 0; i < count; i++) {
      if (buffer[offset + i] == LEAVE) {
        leaving = true;
        if (i == 0) {
          onLeave.run();
          return -1;
        }
        return i;
      }
    }
    return count;
  }
}
