package dev.carrel.server.http;

import io.helidon.common.socket.SocketOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Connections whose client has not asked for anything yet, and how long they may stay so. Helidon
 * waits without a bound for a client's part of TLS and for its first byte, and nobody but the
 * options of its sockets hears of a connection before that.
 */
final class Arrivals implements SocketOptions {
  private final SocketOptions options = SocketOptions.builder().tcpNoDelay(true).build();
  private final Map<Ends, Arrival> arrivals = new ConcurrentHashMap<>();

  /** Which connection it is. */
  private record Ends(SocketAddress here, SocketAddress there) {}

  private record Arrival(SocketChannel channel, long since) {}

  @Override
  public void configureSocket(SocketChannel channel) {
    options.configureSocket(channel);
    try {
      var ends = new Ends(channel.getLocalAddress(), channel.getRemoteAddress());
      arrivals.put(ends, new Arrival(channel, System.nanoTime()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The client has asked for something. */
  void asked(SocketAddress here, SocketAddress there) {
    arrivals.remove(new Ends(here, there));
  }

  /** Hangs up on who has said nothing for so long. */
  void hangUp(Duration patience) {
    long now = System.nanoTime();
    arrivals.values().removeIf(arrival -> isOver(arrival, now, patience));
  }

  private static boolean isOver(Arrival arrival, long now, Duration patience) {
    if (arrival.channel.isOpen() && now - arrival.since <= patience.toNanos()) {
      return false;
    }
    try {
      arrival.channel.close();
    } catch (IOException e) {
      // Whoever serves it finds it broken all the same.
      return true;
    }
    return true;
  }

  @Override
  public Map<SocketOption<?>, Object> socketOptions() {
    return options.socketOptions();
  }

  @Override
  public Duration connectTimeout() {
    return options.connectTimeout();
  }

  @Override
  public Duration readTimeout() {
    return options.readTimeout();
  }

  @Override
  public Optional<Integer> socketReceiveBufferSize() {
    return options.socketReceiveBufferSize();
  }

  @Override
  public Optional<Integer> socketSendBufferSize() {
    return options.socketSendBufferSize();
  }

  @Override
  public boolean socketReuseAddress() {
    return options.socketReuseAddress();
  }

  @Override
  public boolean socketKeepAlive() {
    return options.socketKeepAlive();
  }

  @Override
  public boolean tcpNoDelay() {
    return options.tcpNoDelay();
  }
}
