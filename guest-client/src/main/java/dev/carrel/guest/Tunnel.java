package dev.carrel.guest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;

/**
 * A byte stream to a port inside the sandbox. One thread may read while another writes. Silence is
 * not limited: what runs over it has its own idea of time.
 */
public final class Tunnel implements ByteChannel {
  private final Connection connection;

  Tunnel(Connection connection) {
    this.connection = connection;
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    return connection.readUnframed(target);
  }

  @Override
  public int write(ByteBuffer source) throws IOException {
    return connection.channel().write(source);
  }

  /**
   * Tells the other side that nothing more will be written, and goes on reading.
   *
   * @throws IOException when the engine's connections cannot end one way alone
   */
  public void endOutput() throws IOException {
    if (!(connection.channel() instanceof SocketChannel socket)) {
      throw new IOException("this engine's connections cannot be closed one way alone");
    }
    socket.shutdownOutput();
  }

  @Override
  public boolean isOpen() {
    return !connection.closed();
  }

  @Override
  public void close() {
    connection.close();
  }
}
