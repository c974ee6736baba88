package dev.carrel.server.grpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A port that is open from the start and costs nothing until somebody comes: then it is handed
 * over, with who knocked still in the queue. Netty's classes take a third of the time and memory of
 * a whole idle server, and most servers never see a call over gRPC.
 */
final class Doorway implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Doorway.class);
  private static final int BACKLOG = 128;
  private static final long STACK = 256 * 1024;

  private final ServerSocketChannel socket;
  private final Selector selector;
  private final Opening opening;

  /** Takes the port over: from then on it is the taker's to close. */
  interface Opening {
    void open(ServerSocketChannel socket) throws IOException;
  }

  private Doorway(ServerSocketChannel socket, Selector selector, Opening opening) {
    this.socket = socket;
    this.selector = selector;
    this.opening = opening;
  }

  static Doorway bind(InetSocketAddress address, Opening opening) throws IOException {
    ServerSocketChannel socket = ServerSocketChannel.open();
    try {
      socket.bind(address, BACKLOG);
      socket.configureBlocking(false);
      Selector selector = Selector.open();
      socket.register(selector, SelectionKey.OP_ACCEPT);
      var doorway = new Doorway(socket, selector, opening);
      // Of the platform: a virtual one would hold its carrier while it waits here.
      Thread.ofPlatform()
          .daemon()
          .name("grpc-doorway")
          .stackSize(STACK)
          .start(doorway::awaitSomebody);
      return doorway;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  int port() {
    return socket.socket().getLocalPort();
  }

  private void awaitSomebody() {
    try {
      selector.select();
      if (selector.isOpen()) {
        selector.close();
        opening.open(socket);
      }
    } catch (ClosedSelectorException e) {
      LOG.debug("nobody came before the port was closed", e);
    } catch (IOException | RuntimeException e) {
      // Nobody is to wait for an answer that will not come.
      LOG.error("gRPC cannot be served on port {}", port(), e);
      closeSocket();
    }
  }

  /** Closes the port, if nobody has taken it over. */
  @Override
  public void close() {
    try {
      selector.close();
    } catch (IOException e) {
      LOG.debug("a selector was closed twice", e);
    }
    closeSocket();
  }

  private void closeSocket() {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.debug("a port was closed twice", e);
    }
  }
}
