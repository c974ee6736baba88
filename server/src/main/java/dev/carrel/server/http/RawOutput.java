package dev.carrel.server.http;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import java.io.IOException;
import java.io.OutputStream;

/** Bytes straight to a client whose connection no longer speaks HTTP, each write sent at once. */
final class RawOutput extends OutputStream {
  private final Connection connection;

  RawOutput(Connection connection) {
    this.connection = connection;
  }

  @Override
  public void write(int one) {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes) {
    write(bytes, 0, bytes.length);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    connection.context().dataWriter().writeNow(BufferData.create(bytes, offset, length));
  }

  /** Hands on what a client sends, until it goes away or nobody wants it any more. */
  static void pump(DataReader reader, Exchange.ClientBytes target) {
    try {
      while (true) {
        reader.ensureAvailable();
        target.take(reader.readBytes(reader.available()));
      }
    } catch (IOException e) {
      // Whoever took it is gone, which whoever wrote to the client notices too.
      return;
    }
  }
}
