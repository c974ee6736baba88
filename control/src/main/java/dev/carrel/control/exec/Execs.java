package dev.carrel.control.exec;

import dev.carrel.control.admission.Queue;
import dev.carrel.control.admission.Waiting;
import dev.carrel.control.artifact.Artifacts;
import dev.carrel.control.artifact.Signed;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.event.ExecutionEvents;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.idempotency.RequestKeys;
import dev.carrel.control.idempotency.RequestKeys.Kind;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.control.vault.Vault;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Runs commands in sandboxes. Every command outlives this process; its output is bounded in memory
 * and spilled to disk. Safe for many threads.
 */
public final class Execs implements SandboxListener, AutoCloseable {
  private static final Duration LAST_WORDS = Duration.ofSeconds(5);
  private static final int MAX_READ = 1 << 20;
  // Each of them costs more than the byte that it may be.
  private static final int MAX_CHUNKS = 8 << 10;

  private final Sandboxes sandboxes;
  private final ExecSettings settings;
  private final ExecStore store;
  private final SpillDirectory spills;
  private final RequestKeys keys;
  private final Telemetry telemetry;
  private final Artifacts artifacts;
  private final ExecStarter starter;
  private final ExecAudit audit;
  private final MemoryRoom memory = MemoryRoom.ofThisServer();
  private final Map<SandboxId, SandboxExecs> boxes = new ConcurrentHashMap<>();
  // What an earlier process left running in these is known from rows alone.
  private final Map<SandboxId, Set<ExecId>> unjoined = new ConcurrentHashMap<>();

  public Execs(
      Sandboxes sandboxes,
      ExecSettings settings,
      Database database,
      Path directory,
      RequestKeys keys,
      Queue queue,
      Vault vault,
      Telemetry telemetry,
      Audit audit,
      ExecutionEvents events,
      Artifacts artifacts) {
    this.sandboxes = sandboxes;
    this.settings = settings;
    this.store = new ExecStore(database);
    this.spills = new SpillDirectory(directory);
    this.keys = keys;
    this.telemetry = telemetry;
    this.artifacts = artifacts;
    this.audit = new ExecAudit(audit);
    this.starter =
        new ExecStarter(
            sandboxes,
            settings,
            store,
            spills,
            queue,
            vault,
            telemetry,
            this.audit,
            events,
            artifacts);
    sandboxes.listen(this);
  }

  /** The longest that a command in the foreground may take. */
  public Duration maxTimeout() {
    return settings.maxTimeout();
  }

  /** The time that is wished for, or the longest that may be asked for where that is less. */
  public Duration atMost(Duration wished, boolean background) {
    return Collections.min(List.of(wished, settings.maxTimeout(background)));
  }

  /**
   * Starts a command; the stream's first event is Started, or Exited when it could not start. With
   * a key that came before, the same command again, live or as it was.
   */
  public ExecStream start(Caller caller, SandboxId sandbox, ExecStart request)
      throws InterruptedException {
    return start(caller, sandbox, request, Waiting.UNSEEN);
  }

  /**
   * As {@link #start(Caller, SandboxId, ExecStart)}.
   *
   * @param waiting told where the request stands while it waits for its turn
   */
  public ExecStream start(Caller caller, SandboxId sandbox, ExecStart request, Waiting waiting)
      throws InterruptedException {
    RequestKey key = request.key();
    if (key == null) {
      RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
      return ExecStream.own(
          starter.start(caller, running, box(sandbox), request, waiting, null),
          request.background());
    }
    checkOffset(request.from());
    sandboxes.requireVisible(caller, sandbox);
    try (RequestKeys.Claim claim = keys.claim(caller.tenant(), sandbox, Kind.EXEC, key)) {
      Optional<ExecId> known = claim.target().map(ExecId::new);
      if (known.isPresent()) {
        telemetry.count("execs_replayed");
        if (isPaused(sandbox) && get(caller, sandbox, known.get()).running()) {
          // Else whoever asks again for what stands still would wait for ever.
          sandboxes.requireRunning(caller, sandbox);
        }
        return follow(caller, sandbox, known.get(), request.from()).replayed();
      }
      RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
      LiveExec live = starter.start(caller, running, box(sandbox), request, waiting, claim);
      return ExecStream.following(live, request.from());
    }
  }

  private boolean isPaused(SandboxId sandbox) {
    return sandboxes.running(sandbox).filter(RunningSandbox::paused).isPresent();
  }

  /** Runs a command to its end. Interrupting the thread kills the command's whole tree. */
  public ExecResult run(Caller caller, SandboxId sandbox, ExecStart request)
      throws InterruptedException {
    try (var stream = start(caller, sandbox, request)) {
      return stream.result();
    }
  }

  /** Newest first. */
  public List<Exec> list(Caller caller, SandboxId sandbox) {
    sandboxes.requireVisible(caller, sandbox);
    var byId = new HashMap<ExecId, Exec>();
    // Before the store is read: one that ends is forgotten here once its end is written there.
    SandboxExecs box = boxes.get(sandbox);
    if (box != null) {
      box.all().forEach(live -> byId.put(live.id(), live.exec()));
    }
    store.list(sandbox).forEach(exec -> byId.putIfAbsent(exec.id(), exec));
    var all = new ArrayList<>(byId.values());
    all.sort(Comparator.comparing(Exec::startedAt).reversed());
    return all;
  }

  public Exec get(Caller caller, SandboxId sandbox, ExecId exec) {
    sandboxes.requireVisible(caller, sandbox);
    LiveExec live = live(sandbox, exec);
    return live != null ? live.exec() : stored(sandbox, exec);
  }

  /** The folded result of an ended exec; WRONG_STATE while it runs. */
  public ExecResult result(Caller caller, SandboxId sandbox, ExecId exec)
      throws InterruptedException {
    sandboxes.requireVisible(caller, sandbox);
    LiveExec live = live(sandbox, exec);
    if (live != null) {
      if (live.exec().running()) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "exec " + exec + " is still running")
            .withHint("follow its output, or ask again later");
      }
      return live.result();
    }
    Exec over = over(sandbox, exec);
    return Folding.result(over, storedLog(over), settings, left(over));
  }

  /** Output that is there now, at most {@code maxBytes} from {@code from} on. */
  public ExecOutput output(Caller caller, SandboxId sandbox, ExecId exec, long from, int maxBytes) {
    checkOffset(from);
    if (maxBytes < 1) {
      throw SandboxException.invalid("max_bytes", "must be positive");
    }
    sandboxes.requireVisible(caller, sandbox);
    LiveExec live = live(sandbox, exec);
    if (live != null) {
      return page(live.log(), from, maxBytes);
    }
    Exec row = stored(sandbox, exec);
    ExecOutput page = page(storedLog(row), from, maxBytes);
    return new ExecOutput(
        page.from(), page.next(), page.end(), page.lostBytes(), row.running(), page.chunks());
  }

  static ExecOutput page(OutputLog log, long from, int maxBytes) {
    int left = Math.min(maxBytes, MAX_READ);
    var chunks = new ArrayList<ExecEvent.Output>();
    long at = from;
    long lost = 0;
    OutputLog.Piece piece;
    do {
      piece = log.read(at, Math.min(left, MAX_CHUNKS));
      lost += piece.lost();
      for (ExecEvent.Output output : piece.outputs()) {
        left -= output.bytes().remaining();
        chunks.add(output);
      }
      at = Math.max(at, piece.next());
    } while (left > 0 && at < piece.end() && chunks.size() < MAX_CHUNKS);
    return new ExecOutput(from + lost, at, piece.end(), lost, !piece.ended(), chunks);
  }

  /** Replays from {@code from} and goes on live. */
  public ExecStream follow(Caller caller, SandboxId sandbox, ExecId exec, long from) {
    checkOffset(from);
    sandboxes.requireVisible(caller, sandbox);
    LiveExec live = live(sandbox, exec);
    if (live != null) {
      return ExecStream.following(live, from);
    }
    Exec over = over(sandbox, exec);
    OutputLog log = storedLog(over);
    return ExecStream.replaying(
        over, log, () -> Folding.result(over, log, settings, left(over)), from);
  }

  private Signed left(Exec over) {
    return new Signed(artifacts.of(over.sandbox(), over.id()), List.of(), false);
  }

  public void signal(Caller caller, SandboxId sandbox, ExecId exec, int signal, SignalScope scope) {
    if (signal < 1 || signal > 64) {
      throw SandboxException.invalid("signal", "must be between 1 and 64");
    }
    RunningSandbox box = sandboxes.requireRunning(caller, sandbox);
    if (live(sandbox, exec) == null) {
      stored(sandbox, exec);
    }
    try {
      // Also to one that has ended: it may have left processes behind.
      box.guest().signal(exec, signal, scope.guest());
    } catch (SandboxException e) {
      throw e.code() == ErrorCode.EXEC_NOT_FOUND
          ? new SandboxException(ErrorCode.WRONG_STATE, "exec " + exec + " has ended")
          : box.explain(e);
    }
  }

  /**
   * Writes standard input; blocks while the program does not read.
   *
   * @param end whether nothing more will come
   */
  public void write(Caller caller, SandboxId sandbox, ExecId exec, ByteBuffer bytes, boolean end) {
    if (bytes.remaining() > settings.maxStdin().bytes()) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE,
          "stdin: %d bytes at once, at most %d"
              .formatted(bytes.remaining(), settings.maxStdin().bytes()));
    }
    LiveExec live = running(caller, sandbox, exec);
    if (bytes.hasRemaining()) {
      live.requireStdin();
    }
    live.stdin(bytes, end);
  }

  public void resize(Caller caller, SandboxId sandbox, ExecId exec, Command.TerminalSize size) {
    LiveExec live = running(caller, sandbox, exec);
    if (!live.exec().terminal()) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "exec " + exec + " has no terminal");
    }
    live.resize(size);
  }

  @Override
  public void ended(SandboxId id) {
    // Each exec notices by itself that its guest is gone; its sandbox has ended when all have.
    SandboxExecs box = boxes.get(id);
    List<LiveExec> joined = box == null ? List.of() : List.copyOf(box.all());
    joined.forEach(live -> live.awaitEnd(LAST_WORDS));
    if (unjoined.remove(id) != null) {
      // Nobody was there to notice it of the others.
      Set<ExecId> known = joined.stream().map(LiveExec::id).collect(Collectors.toSet());
      noteLost(
          exec -> exec.sandbox().equals(id) && !known.contains(exec.id()),
          "its sandbox ended before the server had joined it");
    }
  }

  @Override
  public void removed(SandboxId id) {
    SandboxExecs box = boxes.remove(id);
    if (box != null) {
      // Their last words may still be on the way to the files that are to go.
      box.all().forEach(live -> live.awaitEnd(LAST_WORDS));
    }
    spills.remove(id);
  }

  /**
   * Joins what an earlier process left in a sandbox.
   *
   * @param others execs that are not commands but belong to another feature
   */
  public void recover(RunningSandbox sandbox, Set<ExecId> others) {
    recovery(sandbox).run(others);
    unjoined.remove(sandbox.id());
  }

  /**
   * As {@link #recover}, for a sandbox that others use by now: joins what the rows told of when
   * this process started.
   */
  public void recoverKnown(RunningSandbox sandbox) {
    Set<ExecId> known = unjoined.get(sandbox.id());
    if (known != null) {
      recovery(sandbox).runKnown(known);
      unjoined.remove(sandbox.id());
    }
  }

  private ExecRecovery recovery(RunningSandbox sandbox) {
    return new ExecRecovery(
        sandbox, store, audit, spills, settings, box(sandbox.id()), starter::onJoinedEnd);
  }

  /**
   * What the rows call running in sandboxes that are gone has ended with them; what is in the
   * others is to be joined.
   */
  public void recoverRows(Set<SandboxId> running) {
    running.forEach(id -> unjoined.put(id, ConcurrentHashMap.newKeySet()));
    for (Exec exec : store.running()) {
      Set<ExecId> known = unjoined.get(exec.sandbox());
      if (known != null) {
        known.add(exec.id());
      }
    }
    noteLost(exec -> !running.contains(exec.sandbox()), ExecRecovery.GONE);
  }

  private void noteLost(Predicate<Exec> which, String why) {
    store.running().stream()
        .filter(which)
        .forEach(exec -> ExecRecovery.noteLost(store, audit, exec, settings.maxRetained(), why));
  }

  /** Removes the output of sandboxes that are no more; for a start, when all are known. */
  public void recoverSpills(Predicate<SandboxId> known) {
    spills.sandboxes().stream().filter(known.negate()).forEach(spills::remove);
  }

  /** Lets go of all commands; they run on. */
  @Override
  public void close() {
    boxes.values().forEach(box -> box.all().forEach(LiveExec::leave));
  }

  private LiveExec running(Caller caller, SandboxId sandbox, ExecId exec) {
    sandboxes.requireRunning(caller, sandbox);
    LiveExec live = live(sandbox, exec);
    if (live == null) {
      stored(sandbox, exec);
    }
    if (live == null || !live.exec().running()) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "exec " + exec + " has ended");
    }
    return live;
  }

  private @Nullable LiveExec live(SandboxId sandbox, ExecId exec) {
    SandboxExecs box = boxes.get(sandbox);
    return box == null ? null : box.find(exec);
  }

  private Exec stored(SandboxId sandbox, ExecId exec) {
    return store
        .find(sandbox, exec)
        .orElseThrow(
            () -> new SandboxException(ErrorCode.EXEC_NOT_FOUND, "there is no exec " + exec));
  }

  /** A stored one that has ended, as all have but those of a sandbox that is not joined yet. */
  private Exec over(SandboxId sandbox, ExecId exec) {
    Exec stored = stored(sandbox, exec);
    if (stored.running()) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "exec " + exec + " was not joined since the server started")
          .withHint("resume its sandbox if it is paused, and ask again in a while");
    }
    return stored;
  }

  private OutputLog storedLog(Exec exec) {
    return spills.open(exec, store.records(exec.id()));
  }

  private SandboxExecs box(SandboxId id) {
    return boxes.computeIfAbsent(id, _ -> new SandboxExecs(settings, memory));
  }

  private static void checkOffset(long from) {
    if (from < 0) {
      throw SandboxException.invalid("from", "must not be negative");
    }
  }
}
