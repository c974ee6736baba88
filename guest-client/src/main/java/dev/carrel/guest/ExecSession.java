package dev.carrel.guest;

import dev.carrel.spi.Command.TerminalSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.FileChange;
import dev.carrel.spi.SandboxException;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one exec. One thread takes events; any thread may send input and signals
 * meanwhile. A reader that waits holds the program back: nothing is buffered here.
 *
 * <p>Closing ends the connection at once; the program's tree is killed by that unless it was
 * started with {@code keep} or was detached.
 */
public final class ExecSession implements AutoCloseable {
  /** What the guest reports at most; from one that reports more, the rest is left out. */
  private static final int MAX_CHANGES = 10_000;

  private static final long MAX_CHANGE_BYTES = 8L << 20;

  private final Guest guest;
  private final Connection connection;
  private final ExecId id;
  private final Answer answer;
  private final boolean attached;
  private final boolean control;
  private final boolean reportsChanges;
  private final List<FileChange> changes = new ArrayList<>();
  private long changeBytes;
  private boolean changesBegun;
  private boolean changesCut;
  private @Nullable GuestEvent first;
  private boolean gapAllowed;
  private @Nullable Channel openChannel;
  private long offset;
  private boolean ended;
  private volatile boolean detached;

  /** The last of what is on its way to the program: one goes after the other. */
  private CompletableFuture<@Nullable Void> sent = CompletableFuture.completedFuture(null);

  private ExecSession(
      Guest guest,
      Connection connection,
      ExecId id,
      boolean attached,
      boolean control,
      boolean changes) {
    this.guest = guest;
    this.connection = connection;
    this.id = id;
    this.answer = new Answer(connection, ErrorCode.EXEC_NOT_FOUND, "exec " + id);
    this.attached = attached;
    this.control = control;
    this.reportsChanges = changes;
  }

  static ExecSession begin(Guest guest, Connection connection, ExecId id, ExecRequest request) {
    var session =
        new ExecSession(guest, connection, id, false, request.control(), request.changes());
    session.readFirst();
    var timeout = request.command().timeout();
    if (timeout == null) {
      connection.deadline().close();
    } else {
      // The guest ends the program in time. Should it not, our patience begins where its duty ends.
      connection.deadline().suspend(timeout.plus(request.grace()).toNanos());
    }
    return session;
  }

  static ExecSession join(Guest guest, Connection connection, ExecId id) {
    var session = new ExecSession(guest, connection, id, true, true, true);
    session.readFirst();
    connection.deadline().close();
    return session;
  }

  public ExecId id() {
    return id;
  }

  /** Offset after the last output byte taken; where an attach would go on. For the reader. */
  public long offset() {
    return offset;
  }

  /**
   * Waits for the next event. Null when there is none any more: after Exited, or when this session
   * was closed or detached.
   *
   * @throws SandboxException {@code GUEST_LOST}, once, when the guest vanished or broke the
   *     protocol
   */
  public @Nullable GuestEvent next() {
    if (ended) {
      return null;
    }
    GuestEvent event = first;
    first = null;
    try {
      event = event == null ? read() : event;
    } catch (IOException e) {
      ended = true;
      if (connection.closed() || detached) {
        return null;
      }
      throw connection.lost(e);
    } catch (SandboxException e) {
      ended = true;
      connection.close();
      throw e;
    }
    if (event instanceof GuestEvent.Exited) {
      ended = true;
      connection.close();
    }
    return event;
  }

  /**
   * Writes to standard input; consumes the buffer. Waits while the program does not read. Who is
   * interrupted while earlier input waits takes his own along: nobody bounds what would collect.
   *
   * @throws SandboxException {@code WRONG_STATE} when the exec's connection has ended, or nothing
   *     of this was sent before the interrupt
   */
  public void stdin(ByteBuffer bytes) {
    var waiting =
        new AtomicReference<@Nullable Sending>(() -> connection.sendRaw(Wire.DATA, bytes));
    send(waiting);
    if (Thread.currentThread().isInterrupted() && waiting.getAndSet(null) != null) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE,
          "exec " + id + " reads no input, and its sender left before it was his turn");
    }
  }

  public void endStdin() {
    send(() -> connection.sendEmpty(Wire.DATA_END));
  }

  /** Writes to the program's control channel; consumes the buffer. */
  public void control(ByteBuffer bytes) {
    send(() -> connection.sendRaw(Wire.CONTROL, bytes));
  }

  /**
   * Sends a signal, at once: it does not queue behind input that the program is not reading.
   *
   * @throws SandboxException {@code EXEC_NOT_FOUND} when the exec has ended
   */
  public void signal(int signal, SignalScope scope) {
    guest.signal(id, signal, scope);
  }

  public void resize(TerminalSize size) {
    send(
        () ->
            connection.send(
                new Request(Wire.RESIZE)
                    .put(Wire.TAG_ROWS, size.rows())
                    .put(Wire.TAG_COLUMNS, size.columns())));
  }

  /** Leaves the program running; events end. */
  public void detach() {
    detached = true;
    send(() -> connection.sendEmpty(Wire.DETACH));
  }

  @Override
  public void close() {
    connection.close();
  }

  private void readFirst() {
    first =
        Guest.begin(
            connection,
            answer,
            frames -> {
              int type = frames.next();
              if (type == Wire.EXITED) {
                return ExecFrames.exited(frames.fields(), List.of(), false);
              }
              if (type != Wire.STARTED) {
                throw Answer.unexpected(type);
              }
              GuestEvent.Started started = ExecFrames.started(frames.fields(), id);
              offset = started.offset();
              gapAllowed = attached;
              return started;
            });
  }

  private @Nullable GuestEvent read() throws IOException {
    while (true) {
      if (openChannel != null && connection.remaining() > 0) {
        return output(openChannel);
      }
      int type = connection.next();
      if (type == Connection.END) {
        if (detached) {
          ended = true;
          return null;
        }
        throw new EOFException("the guest went away before exec " + id + " ended");
      }
      GuestEvent event = event(type);
      if (event != null) {
        return event;
      }
    }
  }

  private @Nullable GuestEvent event(int type) throws IOException {
    boolean mayGap = gapAllowed;
    gapAllowed = false;
    openChannel = null;
    boolean streaming = !changesBegun;
    if (streaming && (type == Wire.STDOUT || type == Wire.STDERR)) {
      openChannel = type == Wire.STDOUT ? Channel.STDOUT : Channel.STDERR;
      return connection.remaining() == 0 ? null : output(openChannel);
    }
    if (streaming && type == Wire.CONTROL_OUT && control) {
      return connection.remaining() == 0
          ? null
          : new GuestEvent.Control(ByteBuffer.wrap(connection.raw()));
    }
    if (type == Wire.CHANGE && reportsChanges) {
      change();
      return null;
    }
    if (type == Wire.GAP && mayGap) {
      return new GuestEvent.Gap(connection.fields().natural(10));
    }
    if (type == Wire.EXITED) {
      return ExecFrames.exited(connection.fields(), changes, changesCut);
    }
    throw Answer.unexpected(type);
  }

  private void change() throws IOException {
    changesBegun = true;
    changeBytes += connection.remaining();
    if (changes.size() < MAX_CHANGES && changeBytes <= MAX_CHANGE_BYTES) {
      changes.add(ExecFrames.change(connection.fields()));
    } else {
      changesCut = true; // the next frame skips what is left of this one
    }
  }

  private GuestEvent.Output output(Channel channel) throws IOException {
    byte[] bytes = connection.raw();
    offset += bytes.length;
    return new GuestEvent.Output(channel, ByteBuffer.wrap(bytes));
  }

  /**
   * Writes on another thread. An interrupt closes the connection that a thread is writing to, and
   * with it all that the exec has: who is interrupted here only waits no longer, and what was to be
   * sent is sent all the same.
   */
  private void send(Sending sending) {
    send(new AtomicReference<>(sending));
  }

  /**
   * @param waiting emptied by who writes it, as it begins
   */
  private void send(AtomicReference<@Nullable Sending> waiting) {
    try {
      enqueue(waiting).get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      // The reader learns how it ended; here it only matters that nobody listens any more.
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "exec " + id + " has ended: it takes no more input", e);
    }
  }

  private synchronized CompletableFuture<@Nullable Void> enqueue(
      AtomicReference<@Nullable Sending> waiting) {
    sent =
        sent.handleAsync(
            (_, _) -> {
              Sending sending = waiting.getAndSet(null);
              try {
                if (sending != null) {
                  sending.run();
                }
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
              return null;
            },
            Thread::startVirtualThread);
    return sent;
  }

  /** One write. */
  private interface Sending {
    void run() throws IOException;
  }
}
