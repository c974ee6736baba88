package dev.carrel.egress;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pipes of the kernel's through which bytes go from a socket to a socket without being copied, used
 * again and again. Safe for many threads.
 */
final class Pipes implements AutoCloseable {
  /** What fits into one; more falls out of the processor's caches on its way. */
  static final int SIZE = 512 * 1024;

  static final int MOST = 128;

  private static final Logger LOG = LoggerFactory.getLogger(Pipes.class);
  private static final int KEPT = 16;
  // A quick end is ready again in a tenth of this.
  private static final int MOMENT_MILLIS = 1;

  // Who waits for a moment holds a thread that virtual ones take turns on: half of these at most.
  private final Semaphore moments = new Semaphore(Runtime.getRuntime().availableProcessors() / 2);
  private final LongAdder moved = new LongAdder();
  private final Deque<Pipe> free = new ArrayDeque<>();
  private final Runnable attempt;
  private int out;
  private boolean tried;
  private boolean usable;

  private Pipes(boolean usable, Runnable attempt) {
    this.usable = usable;
    this.attempt = attempt;
  }

  static Pipes open() {
    return open(() -> Libc.close(Libc.state(), -1));
  }

  /**
   * @param attempt fails where there is no way to use pipes; made with the first of them, because
   *     it takes a moment that the start of a server has better uses for
   */
  static Pipes open(Runnable attempt) {
    return new Pipes(true, attempt);
  }

  static Pipes none() {
    return new Pipes(false, () -> {});
  }

  /** Null when there is none to be had: all are in use, or they are of no use here. */
  @Nullable Pipe take() {
    synchronized (free) {
      if (!tried && usable) {
        attempt();
      }
      if (!usable || out >= MOST) {
        return null;
      }
      Pipe kept = free.poll();
      Pipe taken = kept == null ? make() : kept;
      out += taken == null ? 0 : 1;
      return taken;
    }
  }

  private void attempt() {
    tried = true;
    try {
      attempt.run();
    } catch (LinkageError e) {
      usable = false;
      Throwable cause = e.getCause() == null ? e : e.getCause();
      LOG.warn("the proxy copies what it could move without a copy: {}", cause.toString());
    }
  }

  private @Nullable Pipe make() {
    MemorySegment state = Libc.state();
    int[] ends = new int[2];
    // It fails when descriptors run out: a copy needs none.
    return Libc.pipe(state, ends, SIZE) < 0 ? null : new Pipe(state, ends[0], ends[1]);
  }

  /** Bytes that were not copied. */
  long moved() {
    return moved.sum();
  }

  private void refuse(long error) {
    synchronized (free) {
      if (usable) {
        LOG.warn("the proxy copies what it could move: splice fails with error {}", -error);
      }
    }
    close();
  }

  /** From now on there are none; who has one may go on using it. */
  @Override
  public void close() {
    synchronized (free) {
      usable = false;
      free.forEach(Pipe::end);
      free.clear();
    }
  }

  /** One pipe; closing gives it back. For one thread at a time. */
  final class Pipe implements AutoCloseable {
    private final MemorySegment state;
    private final int exit;
    private final int entry;
    private final MemorySegment polled = Libc.polled();
    private long held;

    private Pipe(MemorySegment state, int exit, int entry) {
      this.state = state;
      this.exit = exit;
      this.entry = entry;
    }

    MemorySegment state() {
      return state;
    }

    /**
     * Takes in what the socket has, or will have in a moment; nothing when that is nothing, its end
     * or a failure.
     */
    long fill(Descriptor socket, long most) {
      long got = Libc.splice(state, socket.number(), entry, Math.min(most, SIZE));
      if (got == -Libc.NOT_YET && isReadySoon(socket, Libc.READABLE)) {
        got = Libc.splice(state, socket.number(), entry, Math.min(most, SIZE));
      }
      if (got == -Libc.INVALID || got == -Libc.NO_SUCH_CALL || got == -Libc.NO_PERMISSION) {
        refuse(got);
      }
      held += Math.max(got, 0);
      return Math.max(got, 0);
    }

    /** Lets out what the socket takes; nothing when it stays full, is closed or broken. */
    long drain(Descriptor socket, long most) {
      long sent = Libc.splice(state, exit, socket.number(), most);
      if (sent == -Libc.NOT_YET && isReadySoon(socket, Libc.WRITABLE)) {
        sent = Libc.splice(state, exit, socket.number(), most);
      }
      sent = Math.max(sent, 0);
      held -= sent;
      moved.add(sent);
      return sent;
    }

    /**
     * Waits for a moment in the kernel, which wakes this thread in one step; in a channel it is
     * three, and a quick end has been ready for long by then. Not when others wait so already.
     */
    private boolean isReadySoon(Descriptor socket, short events) {
      if (!moments.tryAcquire()) {
        return false;
      }
      try {
        return Libc.poll(state, polled, socket.number(), events, MOMENT_MILLIS) > 0;
      } finally {
        moments.release();
      }
    }

    /** Copies something of what it holds. */
    void read(ByteBuffer to) {
      long got = Libc.read(state, exit, to);
      if (got <= 0) {
        throw new IllegalStateException("a pipe has lost what was in it: " + got);
      }
      held -= got;
    }

    @Override
    public void close() {
      synchronized (free) {
        out--;
        // What is left in it is of a connection that broke.
        if (usable && held == 0 && free.size() < KEPT) {
          free.push(this);
        } else {
          end();
        }
      }
    }

    private void end() {
      Libc.close(state, exit);
      Libc.close(state, entry);
    }
  }
}
