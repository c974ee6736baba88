package dev.carrel.control.context;

import dev.carrel.control.admission.Place;
import dev.carrel.control.admission.Queue;
import dev.carrel.control.admission.Waiting;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.event.ExecutionEvents;
import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.idempotency.RequestKeys;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Interpreter;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.control.vault.Vault;
import dev.carrel.spi.Alarm;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Persistent interpreters: one cell at a time each, the others wait in line. A cell that takes too
 * long is interrupted, and its interpreter killed when that does not help; every answer says
 * whether the state survived. Safe for many threads.
 */
public final class Contexts implements SandboxListener, AutoCloseable {
  private static final String RESTARTED =
      "the interpreter was started anew: what earlier cells defined is gone";

  private final Sandboxes sandboxes;
  private final ContextSettings settings;
  private final ContextStore store;
  private final KeyedCells keyed;
  private final Queue queue;
  private final Vault vault;
  private final Telemetry telemetry;
  private final KernelStarts starts;
  private final KernelJoins joins;
  private final CodeAudit audit;
  private final Map<SandboxId, SandboxContexts> boxes = new ConcurrentHashMap<>();
  private final WarmKernels warmKernels;
  private final MemoryRoom cellRoom = MemoryRoom.ofThisServer();
  // Random start: ids of this process must not meet those of an earlier one in the same kernel.
  private final AtomicInteger ids = new AtomicInteger(ThreadLocalRandom.current().nextInt());
  private volatile boolean closed;

  public Contexts(
      Sandboxes sandboxes,
      ContextSettings settings,
      Database database,
      Path libDirectory,
      RequestKeys keys,
      KeySettings keySettings,
      Queue queue,
      Vault vault,
      Telemetry telemetry,
      Audit audit,
      ExecutionEvents events) {
    this.sandboxes = sandboxes;
    this.settings = settings;
    this.store = new ContextStore(database);
    this.starts = new KernelStarts(settings, libDirectory, telemetry);
    this.joins = new KernelJoins(settings.interruptGrace(), ids::incrementAndGet);
    this.warmKernels = new WarmKernels(starts, settings, ids::incrementAndGet, telemetry);
    this.queue = queue;
    this.vault = vault;
    this.keyed = new KeyedCells(sandboxes, keys, keySettings, telemetry);
    this.telemetry = telemetry;
    this.audit = new CodeAudit(audit, events);
    sandboxes.listen(this);
    sandboxes.pools().warmUp(warmKernels);
  }

  public ContextSettings settings() {
    return settings;
  }

  /** Starts an interpreter; returns when it is ready. */
  public Context create(Caller caller, SandboxId sandbox, CreateContext request)
      throws InterruptedException {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    LiveContext context = box(sandbox).add(request);
    context.takeTurn(settings.maxQueued(), settings.startTimeout());
    return started(caller, running, context);
  }

  public List<Context> list(Caller caller, SandboxId sandbox) {
    sandboxes.requireVisible(caller, sandbox);
    SandboxContexts box = boxes.get(sandbox);
    return box == null ? List.of() : box.list().stream().map(LiveContext::snapshot).toList();
  }

  public Context get(Caller caller, SandboxId sandbox, ContextId context) {
    sandboxes.requireVisible(caller, sandbox);
    return find(sandbox, context).snapshot();
  }

  /** Ends the interpreter, whatever it is doing. */
  public void delete(Caller caller, SandboxId sandbox, ContextId id) throws InterruptedException {
    sandboxes.requireRunning(caller, sandbox);
    LiveContext context = find(sandbox, id);
    context.delete();
    box(sandbox).remove(context);
    store.remove(id);
    Kernel kernel = context.kernel();
    if (kernel != null) {
      kernel.end();
    }
  }

  /** Stops the running cell and keeps the state; does nothing when no cell runs. */
  public void interrupt(Caller caller, SandboxId sandbox, ContextId id) {
    sandboxes.requireRunning(caller, sandbox);
    LiveContext context = find(sandbox, id);
    Kernel kernel = context.kernel();
    Cell running = context.cell();
    if (kernel != null && running != null) {
      kernel.interrupt(running);
    }
  }

  /** Ends the interpreter, with the cell that may be running, and starts a fresh one. */
  public Context restart(Caller caller, SandboxId sandbox, ContextId id)
      throws InterruptedException {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    LiveContext context = find(sandbox, id);
    // First, so that who is refused has lost nothing.
    context.requireRoom(settings.maxQueued());
    Kernel old = context.kernel();
    if (old != null) {
      old.end();
    }
    try {
      context.takeTurn(settings.maxQueued(), settings.startTimeout());
    } catch (SandboxException e) {
      // A cell that waited may have started a fresh one already: that one is as good.
      Kernel fresh = context.kernel();
      if (e.code() == ErrorCode.LIMIT_REACHED && fresh != null && fresh != old && fresh.alive()) {
        return context.snapshot();
      }
      throw e;
    }
    return started(caller, running, context);
  }

  /** Has the interpreter ready that code of this language runs in when it names none. */
  public Context open(Caller caller, SandboxId id, Language language) throws InterruptedException {
    RunningSandbox running = sandboxes.requireRunning(caller, id);
    var nothing = ExecuteCode.of(language, "");
    return started(
        caller, running, takeTurn(id, nothing, settings.startTimeout(), System.nanoTime()));
  }

  private Context started(Caller caller, RunningSandbox running, LiveContext context)
      throws InterruptedException {
    try {
      Kernel now = context.kernel();
      if (now == null || !now.alive()) {
        startKernel(caller, running, box(running.id()), context, null);
      }
      save(context);
      return context.snapshot();
    } finally {
      context.endTurn();
    }
  }

  /** Runs a cell, live. Returns when it is its turn. */
  public CodeStream start(Caller caller, SandboxId sandbox, ExecuteCode request)
      throws InterruptedException {
    return start(caller, sandbox, request, Waiting.UNSEEN);
  }

  /**
   * As {@link #start(Caller, SandboxId, ExecuteCode)}.
   *
   * @param waiting told where the request stands while it waits for its turn; one with a key, which
   *     waits by itself, tells nobody
   */
  public CodeStream start(Caller caller, SandboxId sandbox, ExecuteCode request, Waiting waiting)
      throws InterruptedException {
    if (request.key() != null) {
      KeyedCells.Keyed known = keyed(caller, sandbox, request, request.key());
      return known.cell().stream(known.replay());
    }
    var events = new CellEvents();
    MemoryRoom.Share room = cellRoom.share(caller.tenant());
    try {
      Run run = begin(caller, sandbox, request, events, room, waiting, false);
      return new CodeStream(events, false, () -> stop(run), room::close);
    } catch (RuntimeException | InterruptedException e) {
      room.close();
      throw e;
    }
  }

  /** Runs a cell to its end. Interrupting the thread interrupts the cell, unless it has a key. */
  public CodeResult execute(Caller caller, SandboxId sandbox, ExecuteCode request)
      throws InterruptedException {
    var result = new AtomicReference<CodeResult>();
    execute(caller, sandbox, request, result::set);
    return Objects.requireNonNull(result.get());
  }

  /**
   * As {@link #execute(Caller, SandboxId, ExecuteCode)}.
   *
   * @param tell passes the result on, which counts towards the memory of all values until then
   */
  public void execute(
      Caller caller, SandboxId sandbox, ExecuteCode request, Consumer<CodeResult> tell)
      throws InterruptedException {
    if (request.key() != null) {
      KeyedCells.Keyed known = keyed(caller, sandbox, request, request.key());
      try (CodeStream _ = known.cell().stream(known.replay())) {
        tell.accept(known.cell().await());
      }
      return;
    }
    try (MemoryRoom.Share room = cellRoom.share(caller.tenant())) {
      tell.accept(execute(caller, sandbox, request, room));
    }
  }

  private CodeResult execute(
      Caller caller, SandboxId sandbox, ExecuteCode request, MemoryRoom.Share room)
      throws InterruptedException {
    Run run = begin(caller, sandbox, request, null, room, Waiting.UNSEEN, false);
    try {
      return run.cell().await();
    } catch (InterruptedException e) {
      stop(run);
      throw e;
    }
  }

  @Override
  public void ended(SandboxId id) {
    // Each kernel notices by itself that its guest is gone; the next machine must not wait.
    warmKernels.forget(id);
    SandboxContexts box = boxes.get(id);
    if (box != null) {
      box.list().forEach(LiveContext::ended);
    }
  }

  @Override
  public void removed(SandboxId id) {
    warmKernels.forget(id);
    boxes.remove(id);
    keyed.removeAll(id);
  }

  /**
   * Joins the interpreters that an earlier process left in a sandbox; one that answers keeps its
   * state. Returns their execs. May be repeated: what is joined stays so.
   */
  public Set<ExecId> recover(RunningSandbox sandbox) {
    var execs = new HashSet<ExecId>();
    for (ContextStore.Row row : store.list(sandbox.id())) {
      LiveContext context = adopt(row);
      ExecId exec = row.exec();
      if (exec != null) {
        execs.add(exec);
        if (context.kernel() == null) {
          joins.join(sandbox, context, exec, row.start());
        }
      }
    }
    return execs;
  }

  /**
   * What the rows tell is known, also of sandboxes whose interpreters cannot be joined yet; of
   * those that do not run, that the state is gone.
   */
  public void recoverRows(Set<SandboxId> running) {
    for (ContextStore.Row row : store.all()) {
      LiveContext context = adopt(row);
      if (!running.contains(row.sandbox())) {
        context.lost();
      }
    }
  }

  /** Lets go of all interpreters; they live on. */
  @Override
  public void close() {
    closed = true;
    for (SandboxContexts box : boxes.values()) {
      for (LiveContext context : box.list()) {
        Kernel kernel = context.kernel();
        if (kernel != null) {
          store.note(context);
          kernel.leave();
        }
      }
    }
  }

  private LiveContext adopt(ContextStore.Row row) {
    var context =
        new LiveContext(
            row.id(),
            row.sandbox(),
            row.request(),
            row.isDefault(),
            row.createdAt(),
            row.executionCount());
    return box(row.sandbox()).adopt(context);
  }

  private KeyedCells.Keyed keyed(
      Caller caller, SandboxId sandbox, ExecuteCode request, RequestKey key)
      throws InterruptedException {
    settings.check(request);
    return keyed.obtain(
        caller,
        sandbox,
        key,
        cellRoom,
        cell -> begin(caller, sandbox, request, cell, cell.room(), Waiting.UNSEEN, true));
  }

  private Run begin(
      Caller caller,
      SandboxId sandbox,
      ExecuteCode request,
      @Nullable CellSink events,
      MemoryRoom.Share room,
      Waiting waiting,
      boolean keyed)
      throws InterruptedException {
    long asked = System.nanoTime();
    Duration timeout = settings.check(request);
    RunningSandbox found = sandboxes.requireRunning(caller, sandbox);
    LiveContext context = takeTurn(sandbox, request, timeout, asked);
    boolean begun = false;
    // After its turn came: who waits for an interpreter keeps nobody from running elsewhere.
    try (RunningSandbox.Use _ = sandboxes.requireRunning(caller, sandbox).use();
        Place place = queue.enterExecution(caller.tenant(), found, left(timeout, asked), waiting)) {
      RunningSandbox running = sandboxes.requireRunning(caller, sandbox); // paused or new by now
      Duration queued = Duration.ofNanos(System.nanoTime() - asked);
      Duration left = left(timeout, asked);
      if (events != null) {
        events.put(new CodeEvent.Begun(queued));
      }
      int id = ids.incrementAndGet();
      Kernel kernel = context.kernel();
      String note = null;
      if (kernel == null || !kernel.alive()) {
        note = context.everStarted() ? RESTARTED : null;
        var first = keyed ? null : new KernelStarts.First(id, request.code());
        kernel = startKernel(caller, running, box(sandbox), context, first);
      }
      if (keyed) {
        // Whoever is refused may ask again with that key: then nothing must have run.
        save(context);
      }
      var cell = new Cell(id, context, settings, room, events, queued, note);
      var who = new CodeAudit.Asked(caller.nameFor(running.tenant()), request);
      var run = new Run(running, context, kernel, cell, who);
      whenOver(running, run, place, left);
      begun = true;
      audit.begun(running, context.id());
      running.runs(context.language().wireName() + ": " + request.code());
      kernel.execute(cell, request.code());
      audit.prepare(who);
      // While it runs. Who asked is told nothing of it before.
      try {
        save(context);
      } catch (SandboxException e) {
        stop(run);
        throw e;
      }
      return run;
    } finally {
      if (!begun) {
        context.endTurn();
      }
    }
  }

  /** Writes down which interpreter it has, if that is not known yet. */
  private void save(LiveContext context) {
    Kernel kernel = context.kernel();
    if (kernel != null && kernel != context.saved()) {
      store.save(context);
      context.saved(kernel);
      if (context.deleted()) {
        store.remove(context.id());
      }
    }
  }

  /** Holds what a cell needs until it is over, and sees to it that it will be. */
  private void whenOver(RunningSandbox running, Run run, Place place, Duration timeout) {
    LiveContext context = run.context();
    RunningSandbox.Use use = running.use();
    Runnable leave = place.hold();
    context.cell(run.cell());
    // Not on the alarm's own thread: what waits for the sandbox to wake may wait for its guest.
    var alarm = Alarm.after(timeout, () -> Thread.startVirtualThread(() -> timeOut(run)));
    run.cell()
        .whenOver(
            result -> {
              alarm.close();
              use.close();
              leave.run();
              context.endTurn();
              running.countExec(result.duration());
              telemetry.time("cells", result.duration());
              if (context.saveIsDue()) {
                store.note(context);
              }
              return audit.over(running, run.asked(), result);
            });
  }

  private static Duration left(Duration timeout, long since) {
    return Queue.left(timeout, Duration.ofNanos(System.nanoTime() - since));
  }

  private LiveContext takeTurn(SandboxId sandbox, ExecuteCode request, Duration timeout, long asked)
      throws InterruptedException {
    while (true) {
      LiveContext context = context(box(sandbox), sandbox, request);
      try {
        context.takeTurn(settings.maxQueued(), left(timeout, asked));
        return context;
      } catch (SandboxException e) {
        // Code that named no context may have any: another, when this one was deleted meanwhile.
        if (request.context() != null || e.code() != ErrorCode.CONTEXT_NOT_FOUND) {
          throw e;
        }
      }
    }
  }

  private LiveContext context(SandboxContexts box, SandboxId sandbox, ExecuteCode request) {
    ContextId id = request.context();
    if (id == null) {
      Language language = request.language();
      return box.defaultFor(language == null ? Language.PYTHON : language);
    }
    LiveContext context = find(sandbox, id);
    if (request.language() != null && request.language() != context.language()) {
      throw SandboxException.invalid(
          "language", "context " + id + " speaks " + context.language().wireName());
    }
    return context;
  }

  private Kernel startKernel(
      Caller caller,
      RunningSandbox sandbox,
      SandboxContexts box,
      LiveContext context,
      KernelStarts.@Nullable First first)
      throws InterruptedException {
    boolean started = false;
    try {
      CreateContext request = context.request();
      // First, since they may add to what every process of the sandbox gets.
      Map<String, String> ofAll = vault.inject(caller, sandbox, sandbox.secrets());
      Map<String, String> own = vault.inject(caller, sandbox, request.secrets());
      var environment = new HashMap<>(sandbox.environment());
      environment.putAll(ofAll);
      environment.putAll(request.environment());
      environment.putAll(own);
      Interpreter kind = settings.settle(new Interpreter(context.language(), request.preload()));
      Kernel kernel = request.cwd() == null ? warmKernels.take(sandbox, kind, environment) : null;
      if (kernel == null) {
        kernel =
            starts.start(
                sandbox, context.language(), request.preload(), request.cwd(), environment, first);
      }
      boolean usual = request.cwd() == null && box.list().size() == 1;
      if (usual && kernel.start() == Context.Start.ZYGOTE) {
        sandboxes.pools().begunWith(sandbox, kind);
      }
      context.kernel(kernel);
      context.resetExecutions();
      started = true;
      if (context.deleted()) {
        // Whoever deleted it may have seen no interpreter yet.
        kernel.end();
        throw new SandboxException(
            ErrorCode.CONTEXT_NOT_FOUND, "context " + context.id() + " was deleted");
      }
      return kernel;
    } catch (SandboxException e) {
      throw sandbox.explain(e);
    } finally {
      if (!started && !context.everStarted()) {
        // It never was: the next attempt must not find a context that cannot work.
        context.delete();
        box.remove(context);
      }
    }
  }

  private void timeOut(Run run) {
    run.cell().timedOut();
    stop(run);
  }

  /**
   * Interrupts, twice; kills after the grace. On a thread of its own: each step may take a while.
   */
  private void stop(Run run) {
    if (closed) {
      return;
    }
    // Nothing can be interrupted where nothing moves: a paused one waits until it goes on.
    run.sandbox()
        .whenAwake(
            () ->
                Thread.ofVirtual()
                    .name(run.context().id() + "-stop")
                    .start(() -> interruptOrEnd(run)));
  }

  private void interruptOrEnd(Run run) {
    try {
      run.cell().stopWaiting();
      Duration half = settings.interruptGrace().dividedBy(2);
      run.kernel().interrupt(run.cell());
      if (run.cell().await(half)) {
        return;
      }
      // An interrupt that came before the interpreter had read its request found nothing to stop.
      run.kernel().interrupt(run.cell());
      if (!run.cell().await(half) && run.kernel().kill(run.cell())) {
        run.kernel().awaitKilled();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private LiveContext find(SandboxId sandbox, ContextId id) {
    SandboxContexts box = boxes.get(sandbox);
    LiveContext context = box == null ? null : box.find(id);
    if (context == null) {
      throw new SandboxException(ErrorCode.CONTEXT_NOT_FOUND, "there is no context " + id);
    }
    return context;
  }

  private SandboxContexts box(SandboxId id) {
    return boxes.computeIfAbsent(id, _ -> new SandboxContexts(id, settings.maxContexts()));
  }

  /** A cell under way. */
  private record Run(
      RunningSandbox sandbox,
      LiveContext context,
      Kernel kernel,
      Cell cell,
      CodeAudit.Asked asked) {}
}
