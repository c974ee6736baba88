package dev.carrel.egress;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A connection over TCP until it has shown a token: it may be anybody's, and gets little time. */
final class Arrival implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Arrival.class);
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final TokenDoor door;
  private final SocketChannel channel;
  private final Buffers buffers;
  private final Runnable left;
  private final Wire wire;
  private final BiConsumer<Gate, Wire> goOn;
  private final long deadline = System.nanoTime() + PATIENCE.toNanos();

  /**
   * @param goOn takes over the connection of a known sandbox, to its end
   * @param left run when it goes no further
   */
  Arrival(
      TokenDoor door,
      SocketChannel channel,
      Buffers buffers,
      Pipes pipes,
      BiConsumer<Gate, Wire> goOn,
      Runnable left) {
    this.door = door;
    this.channel = channel;
    this.buffers = buffers;
    this.wire = new Wire(channel, buffers, pipes);
    this.goOn = goOn;
    this.left = left;
  }

  @Override
  public void run() {
    Gate gate = null;
    try {
      gate = admit();
    } catch (IOException e) {
      LOG.debug("an arrival hung up: {}", e.toString());
    } finally {
      door.arrivals().remove(this);
      if (gate == null) {
        close();
        wire.giveBack(buffers);
        left.run();
      }
    }
    if (gate != null) {
      goOn.accept(gate, wire);
    }
  }

  /** Null when it was turned away; the request stays in the wire. */
  private @Nullable Gate admit() throws IOException {
    try {
      HttpHead head = HttpHead.peek(wire);
      return head == null ? null : door.admit(head).gate();
    } catch (RefusedException e) {
      wire.write(Denial.http("", null, e, true));
      door.keeper().refused(String.valueOf(channel.getRemoteAddress()), e.message());
      return null;
    }
  }

  void closeIfLate(long now) {
    if (now - deadline > 0) {
      close();
    }
  }

  void close() {
    try {
      wire.close();
    } catch (IOException e) {
      LOG.debug("an arrival did not close: {}", e.toString());
    }
  }
}
