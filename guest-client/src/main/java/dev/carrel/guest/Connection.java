package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ScatteringByteChannel;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One connection to the guest: whole frames out, checked frames in. One thread reads; any thread
 * writes.
 *
 * <p>A raw payload is handed on in pieces of at most {@link #PIECE} bytes, so a frame costs no more
 * memory than that whatever its header claims; a structured one is read whole, up to the protocol's
 * limit.
 */
final class Connection implements AutoCloseable {
  static final int PIECE = 64 * 1024;
  static final int END = -1;

  private static final int BUFFER = 8 * 1024;

  /** Frames of standard input or of a file are cut to this, so that signals can pass between. */
  private static final int MAX_DATA = 256 * 1024;

  private final ByteChannel channel;
  private final Duration patience;
  private final Deadline deadline;
  private final ByteBuffer in = ByteBuffer.allocate(BUFFER).order(ByteOrder.LITTLE_ENDIAN).limit(0);
  // Held while a frame is written: frames of two threads must not mix.
  private final ReentrantLock writing = new ReentrantLock();
  private int remaining;
  private volatile boolean closed;

  Connection(ByteChannel channel, Duration patience) {
    this.channel = channel;
    this.patience = patience;
    this.deadline = new Deadline(this::hangUp, patience.toNanos());
  }

  Deadline deadline() {
    return deadline;
  }

  boolean closed() {
    return closed;
  }

  /** Sends the request that opens the dialogue; its reader is still its writer. */
  void open(Request request) throws IOException {
    deadline.beginWait();
    try {
      send(request);
    } finally {
      deadline.endWait();
    }
  }

  /** Sends a structured frame in one write. */
  void send(Request request) throws IOException {
    writing.lock();
    try {
      writeAll(request.frame());
    } finally {
      writing.unlock();
    }
  }

  /** Sends bytes as frames of the given type; consumes the buffer. */
  void sendRaw(int type, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      int length = Math.min(bytes.remaining(), MAX_DATA);
      ByteBuffer piece = bytes.slice(bytes.position(), length);
      writing.lock();
      try {
        writeFrame(header(type, length), piece);
      } finally {
        writing.unlock();
      }
      bytes.position(bytes.position() + length);
    }
  }

  /** Sends a frame without payload. */
  void sendEmpty(int type) throws IOException {
    writing.lock();
    try {
      writeAll(header(type, 0));
    } finally {
      writing.unlock();
    }
  }

  /** The type of the next frame, or {@link #END}. What is left of the last one is skipped. */
  int next() throws IOException {
    while (remaining > 0) {
      raw();
    }
    if (!fill(Integer.BYTES)) {
      return END;
    }
    int length = in.getInt(in.position());
    if (length < 0 || length > Wire.MAX_PAYLOAD) {
      throw new Malformed(
          "a frame of " + Integer.toUnsignedString(length) + " bytes, at most " + Wire.MAX_PAYLOAD);
    }
    fill(Wire.HEADER);
    int type = in.position(in.position() + Integer.BYTES).get() & 0xFF;
    remaining = length;
    return type;
  }

  /** Bytes of the present frame that were not taken yet. */
  int remaining() {
    return remaining;
  }

  /** The whole payload of the present frame. */
  Fields fields() throws IOException {
    byte[] payload = new byte[remaining];
    take(payload, 0, payload.length);
    return new Fields(payload);
  }

  /** The next piece of the present frame's raw payload. */
  byte[] raw() throws IOException {
    byte[] piece = new byte[Math.min(remaining, PIECE)];
    take(piece, 0, piece.length);
    return piece;
  }

  /** Takes exactly this many bytes of the present frame. */
  void take(byte[] target, int offset, int length) throws IOException {
    int buffered = Math.min(length, in.remaining());
    in.get(target, offset, buffered);
    ByteBuffer rest = ByteBuffer.wrap(target, offset + buffered, length - buffered);
    while (rest.hasRemaining()) {
      if (readThrough(rest) < 0) {
        throw new EOFException("the guest ended the connection within a frame");
      }
    }
    remaining -= length;
  }

  /** Bytes that follow the last frame, for a connection that is no longer framed. */
  int readUnframed(ByteBuffer target) throws IOException {
    if (!in.hasRemaining()) {
      return channel.read(target);
    }
    int length = Math.min(in.remaining(), target.remaining());
    target.put(in.slice(in.position(), length));
    in.position(in.position() + length);
    return length;
  }

  /** The channel itself, for one that is no longer framed. */
  ByteChannel channel() {
    return channel;
  }

  /** What an operation that failed with this should throw. */
  SandboxException lost(IOException cause) {
    String reason =
        switch (cause) {
          case Malformed m -> "the guest broke the protocol: " + m.getMessage();
          case EOFException end -> String.valueOf(end.getMessage());
          case IOException _ when deadline.passed() ->
              "the guest was silent for " + patience.toMillis() + " ms";
          case ClosedByInterruptException _ -> "interrupted while waiting for the guest";
          default -> "the connection to the guest failed: " + cause;
        };
    close();
    return new SandboxException(ErrorCode.GUEST_LOST, reason, cause);
  }

  @Override
  public void close() {
    closed = true;
    deadline.close();
    hangUp();
  }

  private void hangUp() {
    try {
      channel.close();
    } catch (IOException ignored) {
      // What cannot even be closed is as gone as what was.
    }
  }

  private boolean fill(int needed) throws IOException {
    while (in.remaining() < needed) {
      in.compact();
      boolean more;
      try {
        more = read(in) >= 0;
      } finally {
        in.flip();
      }
      if (!more) {
        if (in.hasRemaining()) {
          throw new EOFException("the guest ended the connection within a frame's header");
        }
        return false;
      }
    }
    return true;
  }

  /** Reads into the target and, in the same call, what follows it: most often the next header. */
  private long readThrough(ByteBuffer target) throws IOException {
    if (!(channel instanceof ScatteringByteChannel scattering)) {
      return read(target);
    }
    in.clear();
    deadline.beginWait();
    try {
      return scattering.read(new ByteBuffer[] {target, in});
    } finally {
      deadline.endWait();
      in.flip();
    }
  }

  private int read(ByteBuffer target) throws IOException {
    deadline.beginWait();
    try {
      return channel.read(target);
    } finally {
      deadline.endWait();
    }
  }

  private void writeFrame(ByteBuffer header, ByteBuffer payload) throws IOException {
    if (channel instanceof GatheringByteChannel gathering) {
      ByteBuffer[] both = {header, payload};
      while (payload.hasRemaining()) {
        gathering.write(both);
      }
    } else {
      writeAll(header);
      writeAll(payload);
    }
  }

  private void writeAll(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  private static ByteBuffer header(int type, int length) {
    return ByteBuffer.allocate(Wire.HEADER)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(length)
        .put((byte) type)
        .flip();
  }
}
