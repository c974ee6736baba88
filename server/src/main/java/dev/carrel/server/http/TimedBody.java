package dev.carrel.server.http;

import io.helidon.common.buffers.DataReader;
import io.helidon.webserver.ServerConnectionException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** A request's body whose every wait for the client is bounded by its connection. */
final class TimedBody extends FilterInputStream {
  private final Connection connection;
  private long count;

  TimedBody(Connection connection, InputStream body) {
    super(body);
    this.connection = connection;
  }

  /** Bytes read so far. */
  long count() {
    return count;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    connection.waitingForClient();
    try {
      int read = super.read(bytes, offset, length);
      count += Math.max(read, 0);
      return read;
    } catch (DataReader.InsufficientDataAvailableException
        | ServerConnectionException
        | UncheckedIOException e) {
      throw new ClientGoneException(e);
    } finally {
      connection.heardFromClient();
    }
  }
}
