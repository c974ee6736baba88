package dev.carrel.control.exec;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An exec's events from some offset on, and then live. For one thread. Closing the caller's own
 * stream of a foreground exec that still runs kills its whole process tree, unless it was started
 * with a key; closing any other only stops looking, unless {@link #killedAtClose} was called.
 */
public final class ExecStream implements AutoCloseable {
  /** What {@link #next(Duration)} returns when nothing came in time. */
  public static final ExecEvent NOTHING = new ExecEvent.Gap(0);

  private static final Duration FOREVER = Duration.ofDays(3650);

  private final ExecId id;
  private final OutputLog log;
  private final Supplier<Exec> state;
  private final Folded folded;
  private final @Nullable LiveExec own;
  private final Deque<ExecEvent> ready = new ArrayDeque<>();
  private long offset;
  private boolean over;
  private boolean replayed;
  private boolean pinning;
  private boolean kills;
  private RunningSandbox.Use use = () -> {};
  private Runnable letGo = () -> {};

  private ExecStream(
      ExecId id,
      OutputLog log,
      Supplier<Exec> state,
      Folded folded,
      @Nullable LiveExec own,
      long from) {
    this.id = id;
    this.log = log;
    this.state = state;
    this.folded = folded;
    this.own = own;
    this.offset = from;
    Exec exec = state.get();
    if (exec.pid() > 0) {
      ready.add(new ExecEvent.Started(exec.pid(), from));
    }
  }

  /** The caller's own exec. */
  static ExecStream own(LiveExec live, boolean background) {
    var stream = new ExecStream(live.id(), live.log(), live::acknowledged, live::result, live, 0);
    stream.holds(live);
    return background ? stream : stream.keepUp().killedAtClose();
  }

  static ExecStream following(LiveExec live, long from) {
    var stream =
        new ExecStream(live.id(), live.log(), live::acknowledged, live::result, null, from);
    stream.holds(live);
    // A shell that waits for keys is at work as long as somebody looks at it.
    stream.use = live.exec().terminal() ? live.use() : stream.use;
    return stream;
  }

  static ExecStream replaying(Exec exec, OutputLog log, Folded folded, long from) {
    return new ExecStream(exec.id(), log, () -> exec, folded, null, from);
  }

  private void holds(LiveExec live) {
    live.heldBy(this);
    letGo = () -> live.leftBy(this);
  }

  ExecStream replayed() {
    replayed = true;
    return this;
  }

  public ExecId id() {
    return id;
  }

  /** Whether this is what an earlier request with the same key started. */
  public boolean isReplay() {
    return replayed;
  }

  /**
   * The program waits for this reader, as one in the foreground does, rather than lose output. For
   * the first reader of a command only.
   */
  public ExecStream keepUp() {
    pinning = true;
    return this;
  }

  /** Closing this ends the command, as that of one in the foreground does. For its starter only. */
  public ExecStream killedAtClose() {
    kills = true;
    return this;
  }

  /** Waits for the next event; null after Exited. */
  public @Nullable ExecEvent next() throws InterruptedException {
    ExecEvent event;
    do {
      event = next(FOREVER);
    } while (NOTHING.equals(event));
    return event;
  }

  /** As {@link #next()}, but {@link #NOTHING} when the time is over. */
  public @Nullable ExecEvent next(Duration patience) throws InterruptedException {
    if (over) {
      return null;
    }
    while (ready.isEmpty()) {
      if (pinning) {
        // From the first look on, the program waits for us rather than lose output.
        log.pin(offset);
      }
      if (!log.await(offset, patience.toNanos())) {
        return NOTHING;
      }
      fill();
      if (ready.isEmpty() && log.abandoned()) {
        throw LiveExec.shuttingDown();
      }
    }
    ExecEvent event = ready.remove();
    over = event instanceof ExecEvent.Exited;
    return event;
  }

  /** Where to resume after the events seen so far. */
  public long offset() {
    long unseen = 0;
    for (ExecEvent event : ready) {
      if (event instanceof ExecEvent.Output output) {
        unseen += output.bytes().remaining();
      }
    }
    return offset - unseen;
  }

  /** Bytes that there are so far. */
  public long end() {
    return log.end();
  }

  /** The folded result; waits for the end. */
  public ExecResult result() throws InterruptedException {
    if (pinning) {
      log.unpin();
    }
    return folded.result();
  }

  @Override
  public void close() {
    use.close();
    letGo.run();
    if (pinning) {
      log.unpin();
    }
    if (kills && own != null && own.exec().running() && !own.left()) {
      own.kill();
    }
  }

  private void fill() {
    OutputLog.Piece piece = log.read(offset, OutputBlock.CAPACITY);
    if (piece.lost() > 0) {
      ready.add(new ExecEvent.Gap(piece.lost()));
    }
    ready.addAll(piece.outputs());
    boolean drained = piece.outputs().isEmpty() && piece.lost() == 0;
    if (drained && piece.ended()) {
      ready.add(Objects.requireNonNull(state.get().exited()));
    }
    offset = drained ? offset : piece.next();
  }

  /** Gives the folded result, in its time. */
  interface Folded {
    ExecResult result() throws InterruptedException;
  }
}
