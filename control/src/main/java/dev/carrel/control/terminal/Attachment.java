package dev.carrel.control.terminal;

import dev.carrel.control.exec.ExecStream;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Somebody who looks at a terminal, and may type. One thread looks, another may type. While it is
 * open the sandbox is in use. A viewer does not hold the program back: one that is slow falls
 * behind, unless the terminal is its own.
 */
public final class Attachment implements AutoCloseable {
  private final ExecStream screen;
  private final Keyboard keyboard;
  private final boolean writes;
  private final long from;
  private final long endAtFirst;
  private final Runnable onClose;
  private boolean typing;
  private boolean closed;
  private boolean left;

  Attachment(
      ExecStream screen,
      Keyboard keyboard,
      boolean writes,
      long from,
      long endAtFirst,
      Runnable onClose) {
    this.screen = screen;
    this.keyboard = keyboard;
    this.writes = writes;
    this.from = from;
    this.endAtFirst = endAtFirst;
    this.onClose = onClose;
  }

  /** Where keys and sizes go. */
  interface Keyboard {
    void type(ByteBuffer bytes);

    void resize(Command.TerminalSize size);
  }

  public ExecId id() {
    return screen.id();
  }

  /** Offset of the first byte that was asked for. */
  public long from() {
    return from;
  }

  /** Where the output ended when this was attached: what comes before is replayed. */
  public long end() {
    return endAtFirst;
  }

  public boolean writes() {
    return writes;
  }

  /** As {@link ExecStream#next()}. */
  public @Nullable ExecEvent next() throws InterruptedException {
    return screen.next();
  }

  /** As {@link ExecStream#next(Duration)}. */
  public @Nullable ExecEvent next(Duration patience) throws InterruptedException {
    return screen.next(patience);
  }

  /** Offset after what {@link #next} gave. */
  public long offset() {
    return screen.offset();
  }

  /** Bytes that the program has written since and that were not looked at yet. */
  public long behind() {
    return screen.end() - Math.max(endAtFirst, screen.offset());
  }

  /**
   * Waits while the program does not read.
   *
   * @throws SandboxException {@code FORBIDDEN} for one who may only look, {@code WRONG_STATE} when
   *     the program has ended
   */
  public void type(ByteBuffer bytes) {
    beginTyping();
    try {
      keyboard.type(bytes);
    } finally {
      endTyping();
    }
  }

  /** As {@link #type}. */
  public void resize(Command.TerminalSize size) {
    beginTyping();
    try {
      keyboard.resize(size);
    } finally {
      endTyping();
    }
  }

  private synchronized void beginTyping() {
    if (!writes) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "this viewer of the terminal may only look");
    }
    if (closed) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "no longer attached");
    }
    typing = true;
  }

  private synchronized void endTyping() {
    typing = false;
    leave();
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      screen.close();
      leave();
    }
  }

  /** Keys that nobody reads keep their place: or each new viewer could leave some more behind. */
  private void leave() {
    if (closed && !typing && !left) {
      left = true;
      onClose.run();
    }
  }
}
