package dev.carrel.server.http;

import io.helidon.common.buffers.DataReader;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.ServerConnectionException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What the server knows of one client connection: whether it waits for the client, and whether the
 * request in hand should be cancelled when the client goes away or the server stops.
 *
 * <p>Used by the connection's own thread; {@link #tick} and {@link #cancelIfLong} come from others.
 */
final class Connection {
  /** Where the request in hand stands, as far as cancelling it goes. */
  private enum Call {
    /** Runs to its end whatever happens. */
    STEADY,
    /** May be cancelled; nobody watches the client yet. */
    CANCELLABLE,
    /** A watcher reads ahead on the connection, so no further request can be read from it. */
    WATCHED,
    CLIENT_GONE,
    SHUTTING_DOWN
  }

  /** A client that takes not a byte for so long will not take any. */
  private static final Duration STALLED = Duration.ofSeconds(20);

  private final ConnectionContext context;
  private final Thread thread;
  private final AtomicReference<Call> call = new AtomicReference<>(Call.STEADY);
  private boolean settled;
  private volatile long callSince;
  private volatile long readingSince;
  private volatile long sendingSince;

  Connection(ConnectionContext context, Thread thread) {
    this.context = context;
    this.thread = thread;
  }

  DataReader reader() {
    return context.dataReader();
  }

  ConnectionContext context() {
    return context;
  }

  /** Whether it is still served. */
  boolean isOpen() {
    return thread.isAlive();
  }

  void waitingForClient() {
    long now = System.nanoTime();
    readingSince = now == 0 ? 1 : now;
  }

  void heardFromClient() {
    readingSince = 0;
  }

  /** Until {@link #sent} the client is expected to take what it is sent. */
  void sending() {
    long now = System.nanoTime();
    sendingSince = now == 0 ? 1 : now;
  }

  void sent() {
    sendingSince = 0;
  }

  /** From now on the request ends with an interrupt when the client goes away. */
  void cancellable() {
    callSince = System.nanoTime();
    call.compareAndSet(Call.STEADY, Call.CANCELLABLE);
  }

  /** As {@link #cancellable()}, with the client watched from the start. */
  void watched() {
    if (call.compareAndSet(Call.STEADY, Call.WATCHED)
        || call.compareAndSet(Call.CANCELLABLE, Call.WATCHED)) {
      startWatching();
    }
  }

  /**
   * As {@link #watched()}, by who reads what the client sends.
   *
   * @param reading returns when the client has gone
   */
  void watchedBy(Runnable reading) {
    if (call.compareAndSet(Call.STEADY, Call.WATCHED)
        || call.compareAndSet(Call.CANCELLABLE, Call.WATCHED)) {
      Thread.ofVirtual().name("read-" + context.childSocketId()).start(() -> follow(reading));
    }
  }

  /**
   * As {@link #watched()}, once somebody has read the rest of the request.
   *
   * @param reading throws {@link UncheckedIOException} when the client goes away meanwhile
   */
  void readBy(Runnable reading) {
    if (call.compareAndSet(Call.STEADY, Call.WATCHED)) {
      Thread.ofVirtual()
          .name("body-" + context.childSocketId())
          .start(() -> readThenWatch(reading));
    }
  }

  private void readThenWatch(Runnable reading) {
    try {
      reading.run();
    } catch (UncheckedIOException e) {
      interrupt(Call.CLIENT_GONE);
      return;
    }
    watch();
  }

  private void follow(Runnable reading) {
    try {
      reading.run();
    } catch (DataReader.InsufficientDataAvailableException | ServerConnectionException gone) {
      // As told below.
    } finally {
      interrupt(Call.CLIENT_GONE);
    }
  }

  /**
   * From now on nothing interrupts the request, and no interrupt is pending. To be called before
   * what it holds is given back: to kill a command takes a connection of its own, which an
   * interrupt would break.
   */
  synchronized void settle() {
    settled = true;
    Thread.interrupted();
  }

  /**
   * The request can no longer be cancelled.
   *
   * @return whether the connection can serve another one
   */
  synchronized boolean steady() {
    settled = false;
    Call before = call.getAndSet(Call.STEADY);
    return before == Call.STEADY || before == Call.CANCELLABLE;
  }

  boolean clientGone() {
    return call.get() == Call.CLIENT_GONE;
  }

  boolean shuttingDown() {
    return call.get() == Call.SHUTTING_DOWN;
  }

  /** Ends a request that is watched, because the server stops; a shorter one may finish. */
  void cancelIfLong() {
    interrupt(Call.SHUTTING_DOWN);
  }

  /** Looks after the connection: called about once a second. */
  void tick(Duration readTimeout, Duration unwatched) {
    long now = System.nanoTime();
    long since = readingSince;
    if (since != 0 && now - since > readTimeout.toNanos()) {
      context.serverSocket().close();
    }
    long sending = sendingSince;
    if (sending != 0 && now - sending > STALLED.toNanos()) {
      context.serverSocket().close();
    }
    if (call.get() == Call.CANCELLABLE
        && now - callSince > unwatched.toNanos()
        && call.compareAndSet(Call.CANCELLABLE, Call.WATCHED)) {
      startWatching();
    }
  }

  private void startWatching() {
    Thread.ofVirtual().name("watch-" + context.childSocketId()).start(this::watch);
  }

  // The reader keeps what it pulls, so a request sent ahead is not lost, only never served: the
  // answer to a watched request carries Connection: close.
  private void watch() {
    try {
      context.dataReader().ensureAvailable();
    } catch (DataReader.InsufficientDataAvailableException | ServerConnectionException e) {
      interrupt(Call.CLIENT_GONE);
    }
  }

  private synchronized void interrupt(Call reason) {
    if (!settled && call.compareAndSet(Call.WATCHED, reason)) {
      thread.interrupt();
    }
  }
}
