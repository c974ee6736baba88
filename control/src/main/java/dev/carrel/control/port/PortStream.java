package dev.carrel.control.port;

import dev.carrel.control.redact.Redaction;
import dev.carrel.guest.Tunnel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A connection to what listens on a port of a sandbox. While it is open the sandbox is in use. One
 * thread may read while another writes; an interrupt closes it.
 */
public final class PortStream implements ByteChannel {
  private final Tunnel tunnel;
  private final Redaction redaction;
  private final Runnable onClose;
  private final AtomicBoolean open = new AtomicBoolean(true);

  PortStream(Tunnel tunnel, Redaction redaction, Runnable onClose) {
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
        onClose.run();
      }
    }
  }
}
