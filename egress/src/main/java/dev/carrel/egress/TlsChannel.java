package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/** TLS over a connection, as one of its two ends. One thread reads, one writes. */
final class TlsChannel implements ByteChannel {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final Wire below;
  private final SSLEngine engine;
  // Whoever reads may have to answer: a change of keys, for example.
  private final ReentrantLock writing = new ReentrantLock();
  private volatile boolean ended;
  private ByteBuffer plain;
  private ByteBuffer packet;

  /**
   * @param below what was read from it already is the beginning of the other end's words
   */
  TlsChannel(Wire below, SSLEngine engine) {
    this.below = below;
    this.engine = engine;
    this.plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize()).flip();
    this.packet = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
  }

  /** Returns when both ends know each other; must come before anything else. */
  void handshake() throws IOException {
    engine.beginHandshake();
    try {
      while (engine.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING) {
        if (engine.getHandshakeStatus() == HandshakeStatus.NEED_UNWRAP) {
          if (!unwrap()) {
            throw new SSLException("the other end hung up within the handshake");
          }
        } else if (engine.isOutboundDone()) {
          throw new SSLException("the connection is closed");
        } else {
          settle();
        }
      }
    } catch (SSLException e) {
      try {
        sayGoodbye();
      } catch (IOException gone) {
        e.addSuppressed(gone);
      }
      throw e;
    }
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    while (!plain.hasRemaining()) {
      if (!unwrap()) {
        return -1;
      }
      settle();
    }
    int count = Math.min(into.remaining(), plain.remaining());
    into.put(into.position(), plain, plain.position(), count);
    into.position(into.position() + count);
    plain.position(plain.position() + count);
    return count;
  }

  /** Takes one record; false at the end. */
  private boolean unwrap() throws IOException {
    while (true) {
      SSLEngineResult result;
      plain.clear();
      try {
        result = engine.unwrap(below.input(), plain);
      } finally {
        plain.flip();
      }
      switch (result.getStatus()) {
        case OK -> {
          return true;
        }
        case CLOSED -> {
          ended = true;
          return false;
        }
        case BUFFER_UNDERFLOW -> {
          if (!below.fill()) {
            ended = true;
            return false;
          }
        }
        case BUFFER_OVERFLOW ->
            plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize()).flip();
      }
    }
  }

  /** Does what the protocol wants done by itself. */
  private void settle() throws IOException {
    while (true) {
      switch (engine.getHandshakeStatus()) {
        case NEED_TASK -> {
          for (Runnable task = engine.getDelegatedTask();
              task != null;
              task = engine.getDelegatedTask()) {
            task.run();
          }
        }
        case NEED_WRAP -> {
          if (!wrap(NOTHING)) {
            return;
          }
        }
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN, FINISHED, NOT_HANDSHAKING -> {
          return;
        }
      }
    }
  }

  @Override
  public int write(ByteBuffer bytes) throws IOException {
    int count = bytes.remaining();
    while (bytes.hasRemaining()) {
      if (!wrap(bytes)) {
        throw new SSLException("the connection is closed");
      }
    }
    return count;
  }

  /** Sends one record; false when nothing can be sent any more. */
  private boolean wrap(ByteBuffer bytes) throws IOException {
    writing.lock();
    try {
      SSLEngineResult result = engine.wrap(bytes, packet.clear());
      if (result.getStatus() == SSLEngineResult.Status.BUFFER_OVERFLOW) {
        packet = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
        return true;
      }
      below.write(packet.flip());
      return result.getStatus() == SSLEngineResult.Status.OK;
    } finally {
      writing.unlock();
    }
  }

  /** Tells the other end, if it still listens, why or that this is the end. */
  private void sayGoodbye() throws IOException {
    engine.closeOutbound();
    while (!engine.isOutboundDone()) {
      if (!wrap(NOTHING)) {
        return;
      }
    }
  }

  @Override
  public boolean isOpen() {
    return !engine.isOutboundDone();
  }

  @Override
  public void close() throws IOException {
    try {
      if (!ended) {
        sayGoodbye();
      }
    } finally {
      below.close();
    }
  }
}
