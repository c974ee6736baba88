package dev.carrel.control.exec;

import dev.carrel.control.artifact.Signed;
import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.GuestEvent;
import dev.carrel.spi.Command.TerminalSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecEvent.Exited;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.FileChange;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An exec that runs, or has just ended. One thread of its own takes what the guest sends; whoever
 * wants to see it reads the log. The process outlives the connection, so a broken one is joined
 * again.
 */
final class LiveExec {
  private static final Logger LOG = LoggerFactory.getLogger(LiveExec.class);
  private static final int RECONNECTS = 3;
  private static final int SIGKILL = 9;

  private final RunningSandbox sandbox;
  private final Machine.Usage before;
  private final OutputLog log;
  private final MemoryRoom.Share memory;
  private final Set<Object> holders = ConcurrentHashMap.newKeySet();
  private final HeadTail stdout;
  private final HeadTail stderr;
  private final RedactedStream cleanOut;
  private final RedactedStream cleanErr;
  private final Consumer<LiveExec> onEnd;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Exec beginning;
  private volatile long pid;
  private volatile ExecSession session;
  private volatile boolean leaving;
  private volatile boolean deaf;
  private volatile @Nullable Exec end;
  private volatile @Nullable SandboxException unrecorded;
  private volatile Signed signed = Signed.NOTHING;
  private byte @Nullable [] records;
  // Bytes as the guest counts them: a mask is seldom as long as what it hides.
  private long received;
  private long knownUntil;

  LiveExec(
      Exec beginning,
      RunningSandbox sandbox,
      ExecSession session,
      Machine.Usage before,
      OutputLog log,
      ExecSettings settings,
      MemoryRoom.Share memory,
      Consumer<LiveExec> onEnd) {
    this.beginning = beginning;
    this.sandbox = sandbox;
    this.session = session;
    this.before = before;
    this.log = log;
    this.memory = memory;
    this.stdout = new HeadTail(settings.stdoutChars(), memory::take);
    this.stderr = new HeadTail(settings.stderrChars(), memory::take);
    heldBy(this);
    this.onEnd = onEnd;
    this.cleanOut = sandbox.redaction().stream();
    this.cleanErr = sandbox.redaction().stream();
  }

  /** Takes the first event, which has come already, and the others on a thread of their own. */
  void begin() throws InterruptedException {
    GuestEvent first = session.next();
    if (first instanceof GuestEvent.Exited exited) {
      end(exited);
      return;
    }
    if (first instanceof GuestEvent.Started started) {
      pid = started.pid();
    }
    Thread.ofVirtual().name(beginning.sandbox() + "-" + beginning.id()).start(this::pump);
  }

  ExecId id() {
    return beginning.id();
  }

  OutputLog log() {
    return log;
  }

  /** What it has in memory counts until all who hold it have let go of it. */
  void heldBy(Object holder) {
    holders.add(holder);
  }

  void leftBy(Object holder) {
    if (holders.remove(holder) && holders.isEmpty()) {
      memory.close();
    }
  }

  /** Its end is on record, or never will be: from here on it counts only for who still reads it. */
  void forgotten() {
    leftBy(this);
  }

  /** As it is now. */
  Exec exec() {
    Exec over = end;
    return over != null ? over : beginning.with(pid, log.end(), null, null);
  }

  /** As it is now; throws when it has ended and that is not on record. */
  Exec acknowledged() {
    SandboxException failure = unrecorded;
    if (failure != null) {
      throw failure;
    }
    return exec();
  }

  /** What it wrote so far to one of its streams, shortened. For after the end. */
  CapturedText text(Channel channel) {
    return (channel == Channel.STDOUT ? stdout : stderr).text();
  }

  /** The output's stored records; null when they are in a file. For after the end. */
  byte @Nullable [] records() {
    return records;
  }

  /** What it left; told before anybody learns of the end. */
  void signed(Signed newSigned) {
    signed = newSigned;
  }

  /** Waits for the end. */
  ExecResult result() throws InterruptedException {
    ended.await();
    Exec over = acknowledged();
    if (over.running()) {
      throw shuttingDown();
    }
    return Folding.result(over, stdout.text(), stderr.text(), log.lossy(), signed);
  }

  /** Waits for the end of one whose sandbox is gone; false when it does not come. */
  boolean awaitEnd(Duration time) {
    // A reader that holds the output back has no right to hold the removal back.
    log.unpin();
    boolean interrupted = false;
    try {
      long end = System.nanoTime() + time.toNanos();
      while (true) {
        try {
          return ended.await(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  void signal(int signal, SignalScope scope) {
    sandbox.guest().signal(id(), signal, scope.guest());
  }

  /**
   * Ends the whole tree, that of a paused sandbox once it goes on; no matter if it has ended
   * already.
   */
  void kill() {
    sandbox.whenAwake(
        () -> {
          try {
            signal(SIGKILL, SignalScope.TREE);
          } catch (SandboxException e) {
            LOG.debug("exec {} could not be killed, it has ended: {}", id(), e.message());
          }
        });
  }

  /** It was started without standard input. */
  void deaf() {
    deaf = true;
  }

  /** Throws when nothing that is written would be read; of one that was joined nobody knows. */
  void requireStdin() {
    if (deaf) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "exec " + id() + " was started without standard input")
          .withHint("start it with its standard input kept open");
    }
  }

  void stdin(ByteBuffer bytes, boolean last) {
    if (bytes.hasRemaining()) {
      session.stdin(bytes);
    }
    if (last) {
      session.endStdin();
    }
  }

  /** Until the result is closed, the sandbox does not count as idle. */
  RunningSandbox.Use use() {
    return sandbox.use();
  }

  void resize(TerminalSize size) {
    session.resize(size);
  }

  /** Stops looking; the process goes on. */
  void leave() {
    leaving = true;
    session.close();
    log.abandon();
    ended.countDown();
  }

  /** Whether this server lets it run on without looking. */
  boolean left() {
    return leaving;
  }

  static SandboxException shuttingDown() {
    return new SandboxException(ErrorCode.SHUTTING_DOWN, "the server is shutting down")
        .withHint("the command runs on; look for it when the server is back");
  }

  /**
   * It was joined after an earlier process had seen some of it.
   *
   * @param from the first byte that comes now
   * @param known up to here an earlier process may have seen it
   */
  void joined(long from, long known) {
    received = from;
    knownUntil = known;
  }

  /** Feeds what an earlier process had kept of the output to the folded result. */
  void replayed(Channel channel, ByteBuffer bytes) {
    (channel == Channel.STDOUT ? stdout : stderr).add(bytes);
  }

  private void pump() {
    try {
      while (end == null) {
        GuestEvent event = next();
        if (event == null) {
          return;
        }
        take(event);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      // The top of a thread: who waits for the end, and for the slot, would wait for ever.
      LOG.error("exec {} cannot be looked at any longer", id(), e);
      abandon();
    }
  }

  /** Nobody takes its output any more: it must not run on. */
  private void abandon() {
    if (end != null) {
      return;
    }
    try {
      finish(lostBy("the server failed"));
    } finally {
      kill();
    }
  }

  /** Null when this server leaves the exec to itself. */
  private @Nullable GuestEvent next() throws InterruptedException {
    String reason = "its connection ended";
    for (int attempt = 0; attempt <= RECONNECTS; attempt++) {
      try {
        GuestEvent event = session.next();
        if (event != null) {
          return event;
        }
      } catch (SandboxException e) {
        reason = e.message();
      }
      if (leaving) {
        return null;
      }
      try {
        session = sandbox.attach(id(), received);
      } catch (SandboxException e) {
        reason = e.message();
        if (e.code() == ErrorCode.EXEC_NOT_FOUND || sandbox.died()) {
          break;
        }
      }
    }
    return lost(reason);
  }

  private void take(GuestEvent event) throws InterruptedException {
    switch (event) {
      case GuestEvent.Started started -> pid = started.pid();
      case GuestEvent.Output(Channel channel, ByteBuffer bytes) -> {
        received += bytes.remaining();
        RedactedStream clean = channel == Channel.STDOUT ? cleanOut : cleanErr;
        clean.known(received <= knownUntil);
        pass(channel, clean.next(bytes));
      }
      case GuestEvent.Gap(long bytes) -> {
        received += bytes;
        passRest();
        stdout.skip(bytes);
        log.gap(bytes);
      }
      case GuestEvent.Control _ -> LOG.warn("exec {} sent control bytes unasked", id());
      case GuestEvent.Exited exited -> end(exited);
    }
  }

  private void pass(Channel channel, ByteBuffer clean) throws InterruptedException {
    if (clean.hasRemaining()) {
      (channel == Channel.STDOUT ? stdout : stderr).add(clean);
      log.append(channel, clean);
    }
  }

  /** What looked like the beginning of a secret was none. */
  private void passRest() throws InterruptedException {
    pass(Channel.STDOUT, cleanOut.end());
    pass(Channel.STDERR, cleanErr.end());
  }

  private void end(GuestEvent.Exited facts) throws InterruptedException {
    passRest();
    Integer code = facts.code();
    Integer signal = facts.signal();
    boolean clean = code != null && code == 0;
    Cause cause = Causes.of(facts, before, clean ? before : sandbox.usage());
    finish(
        new Exited(
            code != null ? code : 128 + (signal == null ? SIGKILL : signal),
            signal,
            cause,
            facts.duration(),
            facts.cpu(),
            facts.maxRssBytes(),
            facts.left(),
            facts.changes().stream().map(this::clean).toList(),
            facts.changesTruncated(),
            sandbox.redaction().textOrNull(Causes.told(facts.message(), beginning))));
  }

  private FileChange clean(FileChange change) {
    return change.withPath(sandbox.redaction().text(change.path()));
  }

  private @Nullable GuestEvent lost(String reason) throws InterruptedException {
    passRest();
    finish(lostBy(reason));
    return null;
  }

  private Exited lostBy(String reason) {
    return new Exited(
        128 + SIGKILL,
        null,
        Cause.SANDBOX_LOST,
        Duration.between(beginning.startedAt(), Instant.now()),
        Duration.ZERO,
        0,
        0,
        List.of(),
        false,
        sandbox.redaction().text(reason));
  }

  private void finish(Exited exited) {
    end = beginning.with(pid, log.end(), Instant.now(), exited);
    boolean recorded = false;
    try {
      records = log.keep();
      session.close();
      onEnd.accept(this);
      recorded = true;
    } catch (SandboxException e) {
      unrecorded = notRecorded(exited, e.code(), e.message());
    } finally {
      if (!recorded && unrecorded == null) {
        unrecorded = notRecorded(exited, ErrorCode.INTERNAL, "the server failed");
      }
      if (!recorded) {
        forgotten();
      }
      log.finish();
      ended.countDown();
    }
  }

  /** It ran, and nobody may be told how it ended while that is not on record. */
  private SandboxException notRecorded(Exited exited, ErrorCode code, String reason) {
    return new SandboxException(
            code,
            "exec %s ended with %d, and this could not be recorded: %s"
                .formatted(id(), exited.code(), reason))
        .withHint("what the command did has been done; see to the server's disk and its log");
  }
}
