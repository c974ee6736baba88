package dev.carrel.server.grpc;

import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.SocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import java.util.concurrent.Semaphore;

/** A port that was bound before Netty came to it, and that lets in no more than so many at once. */
final class TakenPort extends NioServerSocketChannel {
  private final Semaphore places;

  TakenPort(ServerSocketChannel socket, int maxConnections) {
    super(socket);
    this.places = new Semaphore(maxConnections);
  }

  @Override
  protected void doBind(SocketAddress address) {
    // It is.
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // a listener's is the one that it listens to
  protected int doReadMessages(List<Object> accepted) throws Exception {
    int before = accepted.size();
    super.doReadMessages(accepted);
    for (int i = accepted.size() - 1; i >= before; i--) {
      Channel channel = (Channel) accepted.get(i);
      if (places.tryAcquire()) {
        channel.closeFuture().addListener(_ -> places.release());
      } else {
        accepted.remove(i);
        channel.unsafe().closeForcibly();
      }
    }
    return accepted.size() - before;
  }
}
