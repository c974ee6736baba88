package dev.carrel.image;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

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
    Future<?> deadline =
        ForkJoinPool.commonPool()
            .schedule(this::hangUp, patience.toMillis(), TimeUnit.MILLISECONDS);
    try {
      return in.read(bytes, offset, length);
    } finally {
      deadline.cancel(false);
    }
  }

  private @Nullable Void hangUp() throws IOException {
    in.close();
    return null;
  }
}
