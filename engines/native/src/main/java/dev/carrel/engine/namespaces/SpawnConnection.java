package dev.carrel.engine.namespaces;

import dev.carrel.spi.Alarm;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/** One connection to a spawn server, used by one thread at a time. */
final class SpawnConnection implements AutoCloseable {
  private final SocketChannel channel;

  private SpawnConnection(SocketChannel channel) {
    this.channel = channel;
  }

  static SpawnConnection open(Path socket) throws IOException {
    return open(socket, SpawnServer.ANSWER);
  }

  /** Waits for the server to have room for one more, which one that hangs never has. */
  static SpawnConnection open(Path socket, Duration patience) throws IOException {
    var connection = new SpawnConnection(SocketChannel.open(StandardProtocolFamily.UNIX));
    boolean connected = false;
    try (var _ = Alarm.after(patience, connection::close)) {
      connection.channel.connect(UnixDomainSocketAddress.of(socket));
      connected = true;
      return connection;
    } finally {
      if (!connected) {
        connection.close();
      }
    }
  }

  void send(Frame frame) throws IOException {
    sendRaw(frame.encode());
  }

  void sendRaw(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  Frame receive() throws IOException {
    ByteBuffer header = read(Frame.HEADER).order(ByteOrder.LITTLE_ENDIAN);
    int length = header.getInt();
    if (length < 0 || length > Frame.MAX_PAYLOAD) {
      throw new IOException("the spawn server sent a frame of " + length + " bytes");
    }
    int type = header.get() & 0xFF;
    return Frame.decode(type, read(length));
  }

  void shutdownOutput() throws IOException {
    channel.shutdownOutput();
  }

  /** Returns when the server has hung up. */
  void awaitEnd() throws IOException {
    ByteBuffer ignored = ByteBuffer.allocate(256);
    while (channel.read(ignored.clear()) >= 0) {}
  }

  private ByteBuffer read(int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new EOFException("the spawn server hung up");
      }
    }
    return buffer.flip();
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
