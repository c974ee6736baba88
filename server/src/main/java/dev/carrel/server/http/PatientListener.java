package dev.carrel.server.http;

import io.helidon.webserver.WebServer;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A listening socket whose {@link #accept} outlasts bad moments, such as one without a free
 * descriptor: who comes then waits in the kernel's queue. Helidon takes the first failure for the
 * end, closes the port and cuts every connection, while the process stays.
 */
public final class PatientListener extends ServerSocketChannel {
  private static final Logger LOG = LoggerFactory.getLogger(PatientListener.class);
  private static final Duration BREATH = Duration.ofMillis(50);
  private static final Duration SAID_EVERY = Duration.ofSeconds(10);

  private final ServerSocketChannel socket;
  // Of the one thread that accepts.
  private long saidAt = System.nanoTime() - SAID_EVERY.toNanos();

  PatientListener(ServerSocketChannel socket) {
    super(socket.provider());
    this.socket = socket;
  }

  /**
   * Puts one into a server that has started. Helidon has no setting for it; its thread looks for
   * the socket before each {@code accept}, so all but the first one come here.
   */
  public static void within(WebServer web) {
    try {
      for (Object listener : ((Map<?, ?>) field(web, "listeners").get(web)).values()) {
        Field field = field(listener, "serverSocket");
        field.set(listener, new PatientListener((ServerSocketChannel) field.get(listener)));
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Helidon keeps its sockets elsewhere", e);
    }
  }

  private static Field field(Object owner, String name) throws NoSuchFieldException {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  @Override
  public SocketChannel accept() throws IOException {
    while (true) {
      try {
        return socket.accept();
      } catch (ClosedChannelException e) {
        throw e;
      } catch (IOException e) {
        say(e);
        LockSupport.parkNanos(BREATH.toNanos());
      }
    }
  }

  private void say(IOException e) {
    if (System.nanoTime() - saidAt >= SAID_EVERY.toNanos()) {
      saidAt = System.nanoTime();
      LOG.warn(
          "nobody is let in just now: {}; if it lasts, let the server have more open files"
              + " (ulimit -n, LimitNOFILE) or fewer connections (server.max-connections)",
          e.getMessage());
    }
  }

  @Override
  public ServerSocketChannel bind(SocketAddress local, int backlog) throws IOException {
    socket.bind(local, backlog);
    return this;
  }

  @Override
  public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
    socket.setOption(name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return socket.getOption(name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return socket.supportedOptions();
  }

  @Override
  public ServerSocket socket() {
    return socket.socket();
  }

  @Override
  public SocketAddress getLocalAddress() throws IOException {
    return socket.getLocalAddress();
  }

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    socket.close();
  }

  @Override
  protected void implConfigureBlocking(boolean block) throws IOException {
    socket.configureBlocking(block);
  }
}
