package dev.carrel.guest;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** A guest in other hands: it does with each connection what the test wants. */
final class FakeGuest implements AutoCloseable {
  private final Path folder;
  private final UnixDomainSocketAddress address;
  private final ServerSocketChannel server;

  private FakeGuest(int backlog) throws IOException {
    folder = Files.createTempDirectory("guest-");
    address = UnixDomainSocketAddress.of(folder.resolve("s"));
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(address, backlog);
  }

  static FakeGuest behaving(Behaviour behaviour) throws IOException {
    return behaving(16, behaviour);
  }

  static FakeGuest behaving(int backlog, Behaviour behaviour) throws IOException {
    var guest = new FakeGuest(backlog);
    Thread.ofVirtual().name("fake-guest").start(() -> guest.serve(behaviour));
    return guest;
  }

  /** Answers every request with these bytes and hangs up. */
  static FakeGuest saying(byte[] bytes) throws IOException {
    return behaving(
        connection -> {
          connection.read(ByteBuffer.allocate(4096));
          send(connection, ByteBuffer.wrap(bytes));
        });
  }

  /** Never takes a connection; one fits into the queue. */
  static FakeGuest deaf() throws IOException {
    return new FakeGuest(1);
  }

  SocketChannel connect() throws IOException {
    return SocketChannel.open(address);
  }

  Guest client(Duration patience) {
    return client(patience, patience);
  }

  Guest client(Duration patience, Duration work) {
    var settings = GuestSettings.DEFAULT.withPatience(patience).withWork(work);
    return new Guest(this::connect, settings);
  }

  static void send(SocketChannel connection, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      connection.write(bytes);
    }
  }

  /** Waits for the host to hang up. */
  static void listen(SocketChannel connection) throws IOException {
    ByteBuffer ignored = ByteBuffer.allocate(4096);
    while (connection.read(ignored.clear()) >= 0) {}
  }

  private void serve(Behaviour behaviour) {
    try {
      while (true) {
        SocketChannel connection = server.accept();
        Thread.ofVirtual()
            .start(
                () -> {
                  try (connection) {
                    behaviour.serve(connection);
                  } catch (IOException e) {
                    // The host hung up: that is its answer to us.
                    return;
                  }
                });
      }
    } catch (IOException e) {
      return; // closed by the test
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    Files.deleteIfExists(address.getPath());
    Files.delete(folder);
  }

  /** What it does with one connection, which is closed afterwards. */
  interface Behaviour {
    void serve(SocketChannel connection) throws IOException;
  }
}
