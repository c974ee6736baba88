package dev.carrel.server.http;

import dev.carrel.server.http.WebSocket.Message;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Keeps what a client says until somebody receives it. */
final class Inbox implements WebSocket.Messages {
  private static final int MAX_MESSAGE = 64 * 1024;
  private static final int MAX_WAITING = 16;

  private final Connection connection;
  private final BlockingQueue<Message> waiting = new ArrayBlockingQueue<>(MAX_WAITING);

  Inbox(Connection connection) {
    this.connection = connection;
  }

  @Override
  public int max() {
    return MAX_MESSAGE;
  }

  @Override
  public boolean text(WebSocket socket, byte[] utf8) {
    return keep(new Message(true, utf8));
  }

  @Override
  public boolean binary(WebSocket socket, byte[] bytes) {
    return keep(new Message(false, bytes));
  }

  @Nullable Message receive(Duration patience) throws InterruptedException {
    return waiting.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Waits for room, so that who says more than is answered waits too; false: it is all over. */
  private boolean keep(Message message) {
    try {
      while (!waiting.offer(message, 1, TimeUnit.SECONDS)) {
        if (!connection.isOpen()) {
          return false;
        }
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
