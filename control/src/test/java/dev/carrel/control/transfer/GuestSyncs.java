package dev.carrel.control.transfer;

import dev.carrel.control.ChangedMachines;
import dev.carrel.spi.Engine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** A real engine where something happens when a guest is told that a file is all there. */
final class GuestSyncs {
  private static final int HEADER = 5;
  private static final byte DATA_END = 0x41;
  private static final byte ERROR = (byte) 0x81;
  private static final int CODE = 10;

  private final AtomicInteger asked = new AtomicInteger();
  private volatile Act act = _ -> true;

  /** Whether the guest is told. */
  interface Act {
    boolean tell(Channel guest) throws IOException;
  }

  Engine around(Engine engine) {
    return ChangedMachines.of(engine, Channel::new);
  }

  void then(Act newAct) {
    act = newAct;
  }

  /** As a guest whose disk is full does: all has come, and it cannot be kept. */
  void fail() {
    then(Channel::refuse);
  }

  /** As if the server had been killed before. */
  void breakOff() {
    then(
        guest -> {
          guest.close();
          throw new IOException("broken");
        });
  }

  void asUsual() {
    then(_ -> true);
  }

  /** How often guests were told. */
  int asked() {
    return asked.get();
  }

  /** A connection to a guest. */
  final class Channel implements ByteChannel {
    private final ByteChannel guest;
    private ByteBuffer instead = ByteBuffer.allocate(0);

    Channel(ByteChannel guest) {
      this.guest = guest;
    }

    private boolean refuse() throws IOException {
      ByteBuffer end = ByteBuffer.allocate(HEADER).put(Integer.BYTES, DATA_END);
      while (end.hasRemaining()) {
        guest.write(end);
      }
      // What it really answers shows that it has written all.
      guest.read(ByteBuffer.allocate(HEADER));
      byte[] code = "no_space".getBytes(StandardCharsets.US_ASCII);
      instead =
          ByteBuffer.allocate(2 * HEADER + code.length)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putInt(HEADER + code.length)
              .put(ERROR)
              .put((byte) CODE)
              .putInt(code.length)
              .put(code)
              .flip();
      return false;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
      boolean end =
          source.remaining() == HEADER && source.get(source.position() + Integer.BYTES) == DATA_END;
      if (end) {
        asked.incrementAndGet();
        if (!act.tell(this)) {
          source.position(source.limit());
          return HEADER;
        }
      }
      return guest.write(source);
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      if (!instead.hasRemaining()) {
        return guest.read(target);
      }
      int count = Math.min(instead.remaining(), target.remaining());
      target.put(instead.slice(instead.position(), count));
      instead.position(instead.position() + count);
      return count;
    }

    @Override
    public boolean isOpen() {
      return guest.isOpen();
    }

    @Override
    public void close() throws IOException {
      guest.close();
    }
  }
}
