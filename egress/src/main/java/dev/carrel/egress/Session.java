package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection out of a sandbox, from its first byte to its end. Runs on a thread of its own. */
final class Session implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Session.class);
  private static final Duration HELLO = Duration.ofSeconds(30);
  private static final byte SOCKS_5 = 5;

  private final Gate gate;
  private final Dialler dialler;
  private final Buffers buffers;
  private final Duration idle;
  private final Runnable ended;
  private final Wire client;
  private final @Nullable TokenDoor door;
  private final List<Wire> wires = new ArrayList<>();
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
  private volatile @Nullable Asked tunnel;
  private volatile long deadline;
  private volatile boolean over;

  /**
   * @param door how it came in, when that was over TCP; null: the gate's own socket
   * @param ended run at the very end
   */
  Session(
      Gate gate,
      Wire client,
      @Nullable TokenDoor door,
      Dialler dialler,
      Buffers buffers,
      Duration idle,
      Runnable ended) {
    this.gate = gate;
    this.dialler = dialler;
    this.buffers = buffers;
    this.idle = idle;
    this.ended = ended;
    this.client = client;
    this.door = door;
    wires.add(client);
    within(HELLO);
  }

  @Override
  public void run() {
    threads.add(Thread.currentThread());
    try {
      if (client.fill(1)) {
        ByteBuffer first = client.input();
        if (door == null && first.get(first.position()) == SOCKS_5) {
          new Socks(this).serve();
        } else {
          new HttpSide(this, null).serve();
        }
      }
    } catch (IOException | InterruptedException e) {
      // Either end hung up, or the session was ended: nobody is left to be told.
      LOG.debug("a connection of {} ended: {}", gate.sandbox(), e.toString());
    } catch (OutOfMemoryError e) {
      // Outside the heap, of buffers: this connection does without, the others have theirs.
      LOG.warn("a connection of {} ended: {}", gate.sandbox(), e.toString());
    } finally {
      close();
      gate.sessions().remove(this);
      finish();
      ended.run();
    }
  }

  private void finish() {
    Thread own = Thread.currentThread();
    boolean interrupted = Thread.interrupted();
    for (Thread thread : threads) {
      while (!thread.equals(own) && thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    wires.forEach(wire -> wire.giveBack(buffers));
    if (interrupted) {
      own.interrupt();
    }
  }

  Gate gate() {
    return gate;
  }

  Wire client() {
    return client;
  }

  /** Whom this request comes from, where every request must say so; null: the gate says it. */
  Tokens.@Nullable Bearer bearer(HttpHead head) throws RefusedException {
    return door == null ? null : door.require(head, gate);
  }

  Dialler dialler() {
    return dialler;
  }

  /** Connects; the connection ends with this session. */
  Wire dial(Target target) throws RefusedException, InterruptedException, IOException {
    Wire wire = dialler.dial(gate, target);
    synchronized (wires) {
      wires.add(wire);
    }
    if (over) {
      wire.close();
    }
    return wire;
  }

  /** Ends a connection that {@link #dial} made, before the session ends. */
  void drop(Wire wire) throws IOException {
    synchronized (wires) {
      wires.remove(wire);
    }
    wire.close();
    wire.giveBack(buffers);
  }

  /** Runs beside the session's own thread, and ends with it. */
  Thread start(String what, Work work) {
    Thread thread =
        Thread.ofVirtual()
            .name("egress-" + what + "-" + gate.sandbox())
            .unstarted(
                () -> {
                  try {
                    work.run();
                  } catch (IOException | InterruptedException e) {
                    LOG.debug("{} of {} ended: {}", what, gate.sandbox(), e.toString());
                    close();
                  } finally {
                    // What has ended uses no connection any more, and would keep what it used.
                    threads.remove(Thread.currentThread());
                  }
                });
    threads.add(thread);
    thread.start();
    return thread;
  }

  /** Its own and those beside it that have not ended. */
  int threads() {
    return threads.size();
  }

  /** Something that ends when its connections do. */
  interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** A tunnel lasts only as long as the policy allows it. */
  void holds(Asked asked) {
    tunnel = asked;
    recheck();
  }

  void recheck() {
    Asked asked = tunnel;
    if (asked == null) {
      return;
    }
    try {
      dialler.judge(gate, asked);
    } catch (RefusedException e) {
      gate.refused(asked, e);
      close();
    }
  }

  /** What is to come must be there by then. */
  void within(Duration limit) {
    deadline = System.nanoTime() + limit.toNanos();
  }

  /** Bytes pass. */
  void touch() {
    within(idle);
  }

  Bodies.Meter out() {
    return meter(gate::send);
  }

  Bodies.Meter in() {
    return meter(gate::receive);
  }

  private Bodies.Meter meter(Bodies.Meter counter) {
    return new Bodies.Meter() {
      @Override
      public void pass(long bytes) throws RefusedException {
        touch();
        counter.pass(bytes);
      }

      @Override
      public int piece() {
        return gate.isBounded() ? Buffers.SIZE : Pipes.SIZE;
      }
    };
  }

  void closeIfLate(long now) {
    if (now - deadline > 0) {
      close();
    }
  }

  /** Ends all connections; whoever uses them notices. */
  void close() {
    over = true;
    List<Wire> all;
    synchronized (wires) {
      all = List.copyOf(wires);
    }
    for (Wire wire : all) {
      try {
        wire.close();
      } catch (IOException e) {
        LOG.debug("a connection of {} did not close: {}", gate.sandbox(), e.toString());
      }
    }
    threads.stream()
        .filter(thread -> !thread.equals(Thread.currentThread()))
        .forEach(Thread::interrupt);
  }
}
