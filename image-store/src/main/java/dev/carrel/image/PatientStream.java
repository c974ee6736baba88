package dev.carrel.image;

import dev.carrel.spi.Alarm;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;

/** Ends when nothing has come for too long: the HTTP client itself would wait for ever. */
final class PatientStream extends FilterInputStream {
  private final Duration patience;

  PatientStream(InputStream in, Duration patience) {
    super(in);
    this.patience = patience;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    try (var _ = Alarm.after(patience, this::hangUp)) {
      return in.read(bytes, offset, length);
    }
  }

  private void hangUp() {
    try {
      in.close();
    } catch (IOException e) {
      // The read ends with it, and tells.
    }
  }
}
