package dev.carrel.guest;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A connection that has said all it will ever say; it comes in pieces of any size. */
final class ScriptedChannel implements ByteChannel {
  private final ByteBuffer incoming;
  private final @Nullable Random pieces;
  private final ByteArrayOutputStream sent = new ByteArrayOutputStream();
  private boolean open = true;

  ScriptedChannel(byte[] incoming, @Nullable Random pieces) {
    this.incoming = ByteBuffer.wrap(incoming);
    this.pieces = pieces;
  }

  byte[] sent() {
    return sent.toByteArray();
  }

  @Override
  public int read(ByteBuffer target) {
    if (!incoming.hasRemaining()) {
      return -1;
    }
    int length = Math.min(incoming.remaining(), target.remaining());
    if (pieces != null) {
      length = Math.min(length, 1 + pieces.nextInt(64));
    }
    target.put(incoming.slice(incoming.position(), length));
    incoming.position(incoming.position() + length);
    return length;
  }

  @Override
  public int write(ByteBuffer source) {
    int length = source.remaining();
    while (source.hasRemaining()) {
      sent.write(source.get());
    }
    return length;
  }

  @Override
  public boolean isOpen() {
    return open;
  }

  @Override
  public void close() {
    open = false;
  }
}
