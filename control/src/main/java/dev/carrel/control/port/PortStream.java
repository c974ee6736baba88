package dev.carrel.control.port;

import dev.carrel.control.redact.Redaction;
import dev.carrel.guest.Tunnel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A connection to what listens on a port of a sandbox. While it is open the sandbox is in use. One
 * thread may read while another writes; an interrupt closes it.
 */
public final class PortStream implements ByteChannel {
  private final Tunnel tunnel;
  private final Redaction redaction;
  private final Consumer<PortStream> onClose;
  private final AtomicBoolean open = new AtomicBoolean(true);
  private boolean lost;
  private @Nullable Runnable whenLost;

  PortStream(Tunnel tunnel, Redaction redaction, Consumer<PortStream> onClose) {
    this.tunnel = tunnel;
    this.redaction = redaction;
    this.onClose = onClose;
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    return tunnel.read(target);
  }

  @Override
  public int write(ByteBuffer source) throws IOException {
    int length = source.remaining();
    while (source.hasRemaining()) {
      tunnel.write(source);
    }
    return length;
  }

  /** What must not leave the sandbox; nothing that is read here has passed it yet. */
  public Redaction redaction() {
    return redaction;
  }

  /** Nothing more will be written; what comes can still be read. */
  public void endOutput() throws IOException {
    tunnel.endOutput();
  }

  /** Whether it is closed because its sandbox has ended. */
  public synchronized boolean lost() {
    return lost;
  }

  /** Once, when the sandbox ends before this does; at once when it has. */
  public void whenLost(Runnable action) {
    synchronized (this) {
      if (!lost) {
        whenLost = action;
        return;
      }
    }
    action.run();
  }

  /** The sandbox has ended. */
  void lose() {
    Runnable action;
    synchronized (this) {
      lost = true;
      action = whenLost;
    }
    if (action != null) {
      action.run();
    }
    close();
  }

  @Override
  public boolean isOpen() {
    return tunnel.isOpen();
  }

  @Override
  public void close() {
    if (open.compareAndSet(true, false)) {
      try {
        tunnel.close();
      } finally {
        onClose.accept(this);
      }
    }
  }
}
