package dev.carrel.server.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * An answer whose beginning is held back: a short one is sent with its length, a long one goes out
 * as it is written and is never in memory as a whole. To close it is to say that it is complete.
 */
final class JsonAnswer extends OutputStream {
  private static final int MAX_HELD = 64 * 1024;

  private final Exchange exchange;
  private final int status;
  private final ByteArrayOutputStream held = new ByteArrayOutputStream(1024);
  private @Nullable OutputStream out;

  JsonAnswer(Exchange exchange, int status) {
    this.exchange = exchange;
    this.status = status;
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (out == null && held.size() + length > MAX_HELD) {
      out = exchange.output(status, -1);
      held.writeTo(out);
      held.reset();
    }
    (out == null ? held : out).write(bytes, offset, length);
  }

  @Override
  public void close() throws IOException {
    if (out == null) {
      exchange.bytes(status, held.toByteArray());
    } else {
      out.close();
    }
  }
}
