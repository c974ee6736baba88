package dev.carrel.control.context;

import dev.carrel.control.exec.Causes;
import dev.carrel.control.exec.HeadTail;
import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.GuestEvent;
import dev.carrel.guest.SignalScope;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One interpreter process and the conversation with it. A thread of its own reads all that comes;
 * at most one cell runs at a time, which the owner sees to. Nothing the kernel sends is trusted.
 */
final class Kernel {
  private static final Logger LOG = LoggerFactory.getLogger(Kernel.class);
  private static final int SIGINT = 2;
  private static final int SIGKILL = 9;
  private static final int NOT_FOUND = 127;
  private static final int SHOWN_STDERR = 2000;
  private static final int MAX_ERROR = 4 << 20;
  private static final Duration KILL_PATIENCE = Duration.ofSeconds(5);
  // What a pipe takes at once, also one of the smallest: nobody may have to wait for the reader.
  private static final int SENT_AHEAD = 4096;
  // No cell that was shorter than this can have filled a sandbox's memory.
  private static final Duration WORTH_A_LOOK = Duration.ofMillis(5);

  private final RunningSandbox sandbox;
  private final ExecId exec;
  private final ExecSession session;
  private final Context.@Nullable Start start;
  private final KernelFrames frames;
  private final Redaction redaction;
  private final RedactedStream cleanOut;
  private final RedactedStream cleanErr;
  private final CountDownLatch ready = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private final CountDownLatch awaited = new CountDownLatch(1);
  private final CurrentCell current = new CurrentCell();
  private final HeadTail startOutput = new HeadTail(SHOWN_STDERR);
  private final Object turn = new Object();
  // Held while a cell is signalled, which takes as long as the guest does: none begins meanwhile.
  private final ReentrantLock signalling = new ReentrantLock();
  private @Nullable Integer sentAhead;
  private Machine.Usage baseline = Machine.Usage.NONE;
  private volatile KernelEvent.@Nullable Ready greeting;
  private volatile Cell.@Nullable Death death;
  private volatile boolean notFound;
  private volatile boolean leaving;
  private volatile @Nullable String broken;

  Kernel(RunningSandbox sandbox, ExecId exec, ExecSession session, Context.@Nullable Start start) {
    this.sandbox = sandbox;
    this.exec = exec;
    this.session = session;
    this.start = start;
    this.redaction = sandbox.redaction();
    this.cleanOut = redaction.stream();
    this.cleanErr = redaction.stream();
    this.frames = new KernelFrames(this::takeRoom);
  }

  void begin() {
    Thread.ofVirtual().name(sandbox.id() + "-" + exec).start(this::read);
  }

  ExecId exec() {
    return exec;
  }

  /** Null: it was started by an earlier server that did not write it down. */
  Context.@Nullable Start start() {
    return start;
  }

  boolean alive() {
    return death == null;
  }

  KernelEvent.@Nullable Ready greeting() {
    return greeting;
  }

  /** Waits until it serves requests; throws when it cannot. */
  void awaitReady(Duration time, KernelCommand command) throws InterruptedException {
    boolean inTime;
    try {
      inTime = ready.await(time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      kill(); // nobody would ever ask it anything
      throw e;
    }
    Cell.Death dead = death;
    if (inTime && dead == null) {
      return;
    }
    if (dead == null) {
      end(); // from here on it is certain whether it has greeted
      throw new SandboxException(
          ErrorCode.LANGUAGE_NOT_AVAILABLE,
          "the interpreter was not ready after %d ms".formatted(time.toMillis()));
    }
    if (sandbox.died()) {
      throw sandbox.explain(new SandboxException(ErrorCode.GUEST_LOST, dead.message()));
    }
    String said;
    synchronized (turn) {
      said = startOutput.text().text();
    }
    throw new SandboxException(
            ErrorCode.LANGUAGE_NOT_AVAILABLE,
            notFound
                ? command.arguments().getFirst() + " is not in the sandbox's image"
                : "the interpreter could not start: "
                    + dead.message()
                    + (said.isBlank() ? "" : ": " + said.strip()))
        .withHint("the image needs " + command.needs());
  }

  /** After joining a kernel of an earlier process: asks whether it still listens. */
  boolean answers(int id, Duration time) throws InterruptedException {
    frames.resync(id);
    begin();
    session.control(KernelFrames.ping(id));
    return awaitAnswer(time);
  }

  /** Goes on waiting for that answer. */
  boolean awaitAnswer(Duration time) throws InterruptedException {
    return ready.await(time.toNanos(), TimeUnit.NANOSECONDS) && alive();
  }

  /**
   * Gives one that was started ahead of its user the user's environment, before the first cell; see
   * {@link LateBinding} for what cannot come this late. Its answer need not be waited for: requests
   * are served in order, and a kernel that fails at this one is found dead by the next.
   *
   * @param id of the request; no cell may have it
   * @throws SandboxException {@code WRONG_STATE} when the connection to it has ended
   */
  void bind(int id, Map<String, String> environment) {
    session.control(KernelFrames.bind(id, environment));
  }

  /**
   * Lets one that waits for its user make ready for the first cell; nobody waits for its answer.
   *
   * @param id of the request; no cell may have it
   */
  void rehearse(int id) {
    session.control(KernelFrames.ping(id));
  }

  /**
   * Lets the first cell's code wait in the kernel's channel, which saves it a way there and back
   * once it is ready; before that it reads nothing. Does nothing with code that is not small. To be
   * called before {@link #begin}: the reader has to know that an answer may come early.
   *
   * @param id of the cell that {@link #execute} gives it next
   */
  void sendAhead(int id, String code) {
    ByteBuffer request = KernelFrames.execute(id, code);
    if (request.remaining() <= SENT_AHEAD) {
      synchronized (turn) {
        sentAhead = id;
      }
      send(request);
    }
  }

  /** Gives it code to run; what comes back goes into the cell. */
  void execute(Cell next, String code) throws InterruptedException {
    boolean sent;
    signalling.lock();
    try {
      current.begin(next);
    } finally {
      signalling.unlock();
    }
    // After that: who reads takes an early answer for none as soon as nothing was sent ahead.
    synchronized (turn) {
      sent = sentAhead != null && sentAhead == next.id();
      sentAhead = null;
    }
    awaited.countDown();
    if (!sent) {
      send(KernelFrames.execute(next.id(), code));
    }
    if (!alive()) {
      endCell();
    }
  }

  private void send(ByteBuffer code) {
    try {
      session.control(code);
    } catch (SandboxException e) {
      // It is ending; the reader learns how and tells the cell.
      LOG.debug("kernel {} takes no code: {}", exec, e.message());
    }
  }

  /** Interrupts whatever it does. */
  void interrupt() {
    signal(SIGINT, SignalScope.MAIN);
  }

  /** Interrupts this cell, and no other that came after it. */
  void interrupt(Cell running) {
    whileItRuns(running, this::interrupt);
  }

  /** Ends the process for the sake of this cell; false when the cell is over. */
  boolean kill(Cell running) {
    return whileItRuns(running, this::kill);
  }

  private boolean whileItRuns(Cell running, Runnable signal) {
    signalling.lock();
    try {
      boolean stillRuns = current.get() == running;
      if (stillRuns) {
        signal.run();
      }
      return stillRuns;
    } finally {
      signalling.unlock();
    }
  }

  void kill() {
    awaited.countDown();
    signal(SIGKILL, SignalScope.TREE);
  }

  /** Kills it; returns when it has ended, or is not to be waited for. */
  void end() throws InterruptedException {
    kill();
    awaitKilled();
  }

  /** For one that was killed. */
  void awaitKilled() throws InterruptedException {
    if (!awaitEnd(KILL_PATIENCE)) {
      abandon();
    }
  }

  /** Waits until the process has ended. */
  boolean awaitEnd(Duration time) throws InterruptedException {
    return ended.await(time.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Closes the connection to a process that does not even end when killed. */
  void abandon() {
    broken = "it did not end when it was killed";
    session.close();
  }

  /** Stops listening; the process goes on for the next server to join. */
  void leave() {
    leaving = true;
    awaited.countDown();
    session.close();
    Cell running = current.get();
    if (running != null) {
      running.abandon();
    }
  }

  private void signal(int signal, SignalScope scope) {
    try {
      sandbox.guest().signal(exec, signal, scope);
    } catch (SandboxException e) {
      LOG.debug("kernel {} was not signalled, it has ended: {}", exec, e.message());
    }
  }

  private void read() {
    try {
      baseline = sandbox.usageBefore();
      while (true) {
        GuestEvent event = session.next();
        if (event == null) {
          lost(broken == null ? "the connection to it ended" : broken);
          return;
        }
        current.passEarlier();
        switch (event) {
          case GuestEvent.Started _, GuestEvent.Gap _ -> {}
          case GuestEvent.Output(Channel channel, ByteBuffer bytes) ->
              output(channel, (channel == Channel.STDOUT ? cleanOut : cleanErr).next(bytes));
          case GuestEvent.Control(ByteBuffer bytes) -> control(bytes);
          case GuestEvent.Exited exited -> {
            exited(exited);
            return;
          }
        }
      }
    } catch (SandboxException e) {
      lost(e.message());
    } catch (RuntimeException e) {
      LOG.error("kernel {} of {} is given up", exec, sandbox.id(), e);
      lost("the server failed at what it said");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void output(Channel channel, ByteBuffer bytes) throws InterruptedException {
    if (!bytes.hasRemaining()) {
      return;
    }
    int max;
    synchronized (turn) {
      max = sentAhead == null ? BetweenCells.USUAL : BetweenCells.EARLY;
    }
    if (!current.output(channel, bytes, max) && greeting == null) {
      synchronized (turn) {
        startOutput.add(bytes);
      }
    }
  }

  private void control(ByteBuffer bytes) throws InterruptedException {
    try {
      for (KernelEvent event = frames.next(bytes); event != null; event = frames.next(bytes)) {
        take(CleanEvents.of(event, redaction));
      }
    } catch (KernelFrames.Malformed e) {
      // It cannot be understood any more. Only the context that did this is spoilt.
      broken = String.valueOf(e.getMessage());
      kill();
      bytes.position(bytes.limit());
    }
  }

  private boolean takeRoom(int type, int bytes) {
    if (type == KernelFrames.ERROR) {
      return bytes <= MAX_ERROR;
    }
    Cell running = current.get();
    return running != null && running.takeRoom(bytes);
  }

  private void take(KernelEvent event) throws InterruptedException {
    switch (event) {
      case KernelEvent.Ready said -> {
        if (greeting == null) {
          greeting = said;
          ready.countDown();
          awaitCell();
        }
      }
      case KernelEvent.Pong _ -> ready.countDown();
      case KernelEvent.Skipped _ -> {}
      case KernelEvent.Result(int id, MimeBundle bundle) -> {
        Cell running = running(id);
        if (running != null) {
          running.result(bundle);
        }
      }
      case KernelEvent.Display(int id, MimeBundle bundle) -> {
        Cell running = running(id);
        if (running != null) {
          running.display(bundle);
        }
      }
      case KernelEvent.Failed(int id, CodeError error) -> {
        Cell running = running(id);
        if (running != null) {
          running.failed(error);
        }
      }
      case KernelEvent.Done(int id, KernelEvent.Status status) -> done(id, status);
    }
  }

  /** What follows may be the answer to code that was sent ahead, whose cell is on its way. */
  private void awaitCell() throws InterruptedException {
    boolean early;
    synchronized (turn) {
      early = sentAhead != null;
    }
    if (early) {
      awaited.await();
    }
    current.passEarlier();
  }

  private void done(int id, KernelEvent.Status status) throws InterruptedException {
    Cell running = running(id);
    if (running == null) {
      return;
    }
    passRest();
    current.end();
    if (running.age().compareTo(WORTH_A_LOOK) > 0) {
      baseline = sandbox.usage();
    }
    running.done(status);
  }

  private @Nullable Cell running(int id) {
    Cell running = current.get();
    return running != null && running.id() == id ? running : null;
  }

  private void exited(GuestEvent.Exited exited) throws InterruptedException {
    Cause cause = Causes.of(exited, baseline, sandbox.usage());
    Integer code = exited.code();
    Integer signal = exited.signal();
    notFound = code != null && code == NOT_FOUND && exited.message() != null;
    String reason = broken;
    String message;
    if (reason != null) {
      message = "the interpreter was ended: " + reason;
    } else if (exited.message() != null) {
      message = String.valueOf(exited.message());
    } else if (cause == Cause.OUT_OF_MEMORY) {
      message = "the interpreter was killed at the sandbox's memory limit";
    } else if (signal != null) {
      message = "the interpreter was ended by signal " + signal;
    } else {
      message = "the code ended the interpreter with exit code " + code;
    }
    end(new Cell.Death(cause, signal, errorType(cause), redaction.text(message)));
  }

  private void lost(String reason) {
    if (leaving) {
      return;
    }
    try {
      end(new Cell.Death(Cause.SANDBOX_LOST, null, "SandboxLost", reason));
      kill(); // what nobody can talk to any more must not stay
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The cell is over: what looked like the beginning of a secret is shown where it belongs. */
  private void passRest() throws InterruptedException {
    output(Channel.STDOUT, cleanOut.end());
    output(Channel.STDERR, cleanErr.end());
  }

  private void end(Cell.Death how) throws InterruptedException {
    try {
      passRest();
    } finally {
      death = how;
      session.close();
      ready.countDown();
      ended.countDown();
      endCell();
    }
  }

  private void endCell() throws InterruptedException {
    try {
      current.passEarlier();
    } finally {
      Cell running = current.end();
      Cell.Death how = death;
      if (running != null && how != null) {
        running.died(how);
      }
    }
  }

  private static String errorType(Cause cause) {
    return switch (cause) {
      case OUT_OF_MEMORY -> "OutOfMemory";
      case PIDS_LIMIT -> "ProcessLimit";
      case CRASHED -> "KernelCrashed";
      case SANDBOX_LOST -> "SandboxLost";
      case RETURNED, NOT_STARTED, TIMED_OUT, KILLED, SIGNALLED -> "KernelDied";
    };
  }
}
