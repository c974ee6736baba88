package dev.carrel.server.http;

import io.helidon.common.socket.SocketOptions;
import io.helidon.http.Headers;
import io.helidon.http.HttpPrologue;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.http1.Http1ConnectionListener;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The open client connections. Bounds how long a client may take to begin and to send what it began
 * to send, and notices clients that leave.
 */
public final class Connections implements Http1ConnectionListener, AutoCloseable {
  private static final Duration TICK = Duration.ofSeconds(1);

  // Helidon serves a connection on one virtual thread and hands the context to listeners only.
  private static final ThreadLocal<Connection> CURRENT = new ThreadLocal<>();

  private final Arrivals arrivals = new Arrivals();
  private final Set<Connection> open = ConcurrentHashMap.newKeySet();
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Duration readTimeout;
  private volatile boolean stopping;

  public Connections(Duration readTimeout) {
    this.readTimeout = readTimeout;
    Thread.ofVirtual().name("connections").start(this::run);
  }

  /** What the web server is to accept connections with. */
  public SocketOptions options() {
    return arrivals;
  }

  @Override
  public void prologue(ConnectionContext context, HttpPrologue prologue) {
    Connection connection = CURRENT.get();
    if (connection == null) {
      connection = new Connection(context, Thread.currentThread());
      CURRENT.set(connection);
      open.add(connection);
      arrivals.asked(context.localPeer().address(), context.remotePeer().address());
    }
    connection.waitingForClient();
  }

  @Override
  public void headers(ConnectionContext context, Headers headers) {
    CURRENT.get().heardFromClient();
  }

  /** The connection that this thread serves. */
  Connection current() {
    return CURRENT.get();
  }

  /** Cancels streams and requests that take long, now and from now on. */
  public void stop() {
    stopping = true;
    open.forEach(Connection::cancelIfLong);
  }

  boolean stopping() {
    return stopping;
  }

  @Override
  public void close() {
    closed.countDown();
  }

  private void run() {
    try {
      while (!closed.await(TICK.toMillis(), TimeUnit.MILLISECONDS)) {
        arrivals.hangUp(readTimeout);
        open.removeIf(connection -> !connection.isOpen());
        open.forEach(connection -> connection.tick(readTimeout, TICK));
        if (stopping) {
          open.forEach(Connection::cancelIfLong);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
