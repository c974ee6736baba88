package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.SandboxStore.Reservation;
import dev.carrel.control.store.Database;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sandboxes of this server: made, found, changed and removed. Safe for many threads; no lock is
 * held while a machine starts or ends.
 */
public final class Sandboxes {
  private static final Logger LOG = LoggerFactory.getLogger(Sandboxes.class);

  private final SandboxSettings settings;
  private final SandboxRules rules;
  private final Engines engines;
  private final SandboxStore store;
  private final Telemetry telemetry;
  private final List<SandboxListener> listeners = new CopyOnWriteArrayList<>();
  private final Map<SandboxId, RunningSandbox> running = new ConcurrentHashMap<>();
  // Those that start or end right now; others who want the same sandbox wait here.
  private final Map<SandboxId, CountDownLatch> starting = new ConcurrentHashMap<>();
  private final Map<SandboxId, CountDownLatch> ending = new ConcurrentHashMap<>();
  private final RecentlyDeleted recentlyDeleted = new RecentlyDeleted();
  private volatile boolean closed;

  public Sandboxes(
      SandboxSettings settings, Engines engines, Database database, Telemetry telemetry) {
    this.settings = settings;
    this.rules = new SandboxRules(settings);
    this.engines = engines;
    this.store = new SandboxStore(database);
    this.telemetry = telemetry;
  }

  /** To be called before the first sandbox exists. */
  public void listen(SandboxListener listener) {
    listeners.add(listener);
  }

  /**
   * Starts a sandbox, or returns the live one with the same session key. One that could not be
   * started stays listed as failed.
   */
  public Sandbox create(Caller caller, CreateSandbox request) {
    refuseWhenClosed();
    SandboxRules.network(request.networkEnabled());
    Engine engine = engines.choose(request.engine(), request.isolation());
    Sandbox row = row(caller, request, engine);
    var started = new CountDownLatch(1);
    starting.put(row.id(), started);
    try {
      return switch (store.reserve(
          row, settings.maxSandboxesPerTenant(), settings.maxSandboxes())) {
        case Reservation.Made _ -> start(row, engine);
        case Reservation.Existing(Sandbox existing) -> awaitStarted(caller, existing);
        case Reservation.Full(boolean tenant) -> throw full(tenant);
      };
    } finally {
      starting.remove(row.id());
      started.countDown();
    }
  }

  public Sandbox get(Caller caller, SandboxId id) {
    RunningSandbox live = visibleRunning(caller, id);
    if (live != null) {
      return live.snapshot();
    }
    return store
        .find(id)
        .filter(row -> visible(caller, row) && row.status() != SandboxStatus.DESTROYED)
        .orElseThrow(() -> notFound(id));
  }

  public SandboxPage list(Caller caller, SandboxQuery query) {
    SandboxPage page =
        store.page(caller.role() == Caller.Role.ADMIN ? null : caller.tenant(), query);
    List<Sandbox> fresh =
        page.items().stream()
            .map(
                row -> {
                  RunningSandbox live = running.get(row.id());
                  return live == null ? row : live.snapshot();
                })
            .toList();
    return new SandboxPage(fresh, page.total(), page.page(), page.pageSize(), page.statusCounts());
  }

  /** Changes what may be changed; the rest is refused while it runs, the disk always. */
  public Sandbox patch(Caller caller, SandboxId id, PatchSandbox patch) {
    Sandbox now = get(caller, id);
    Sandbox next = patched(now, patch);
    RunningSandbox live = running.get(id);
    if (!store.configure(now, next)) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "sandbox " + id + " changed its status meanwhile; look again");
    }
    if (live != null) {
      live.row(next);
    }
    return get(caller, id);
  }

  /** Removes the sandbox and everything in it, whatever its status; twice is as good as once. */
  public void delete(Caller caller, SandboxId id) {
    Sandbox row = store.find(id).filter(found -> visible(caller, found)).orElse(null);
    if (row == null) {
      if (!recentlyDeleted.contains(id, caller)) {
        throw notFound(id);
      }
      return;
    }
    remove(row);
  }

  /** The sandbox if it runs; otherwise an exception that says why it does not. */
  public RunningSandbox requireRunning(Caller caller, SandboxId id) {
    refuseWhenClosed();
    RunningSandbox live = visibleRunning(caller, id);
    if (live != null) {
      live.touch();
      return live;
    }
    Sandbox row = get(caller, id);
    if (row.status() == SandboxStatus.CREATING || row.status() == SandboxStatus.RUNNING) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "sandbox " + id + " is " + row.status().wireName())
          .withHint("try again in a moment");
    }
    throw gone(row);
  }

  /** Checks that the caller may see the sandbox, running or not. */
  public void requireVisible(Caller caller, SandboxId id) {
    if (visibleRunning(caller, id) == null) {
      get(caller, id);
    }
  }

  /** How many sandboxes there are in each status, of all tenants. */
  public Map<SandboxStatus, Long> counts() {
    return store.page(null, SandboxQuery.all()).statusCounts();
  }

  /** From now on nothing is started; what runs goes on. */
  public void close() {
    closed = true;
  }

  /** What to throw for a sandbox that no longer runs. */
  static SandboxException gone(Sandbox row) {
    Failure failure =
        Objects.requireNonNullElse(
            row.failure(), new Failure("stopped", "it was stopped", "create a new sandbox"));
    return new SandboxException(
            ErrorCode.SANDBOX_GONE,
            "sandbox %s is %s (%s): %s"
                .formatted(row.id(), row.status().wireName(), failure.cause(), failure.message()))
        .withHint(failure.hint());
  }

  Collection<RunningSandbox> running() {
    return running.values();
  }

  SandboxStore store() {
    return store;
  }

  /** Takes over a machine that an earlier process started. */
  RunningSandbox adopt(Sandbox row, Machine machine) {
    var adopted = new RunningSandbox(row, machine, this);
    running.put(row.id(), adopted);
    return adopted;
  }

  /** The machine died by itself. Returns the row as it is now. */
  Sandbox died(RunningSandbox sandbox) {
    Machine.Death death =
        sandbox
            .machine()
            .death()
            .orElse(new Machine.Death(Machine.Death.Cause.UNKNOWN, "it no longer answers"));
    return end(sandbox, SandboxStatus.FAILED, Failures.of(death));
  }

  /** Ends a running sandbox and keeps its row. Returns the row as it is now. */
  Sandbox end(RunningSandbox sandbox, SandboxStatus status, Failure failure) {
    Sandbox before = sandbox.snapshot();
    Sandbox after = before.withStatus(status, Instant.now(), failure);
    if (!store.transition(before, after)) {
      return store.find(before.id()).orElse(after);
    }
    telemetry.count("sandboxes_ended_" + failure.cause());
    running.remove(before.id(), sandbox);
    store.note(before.id(), before.lastActivityAt(), before.counters());
    destroyQuietly(sandbox);
    listeners.forEach(listener -> listener.ended(before.id()));
    return after;
  }

  /** Removes a row with its machine, if it has one. */
  void remove(Sandbox row) {
    var mine = new CountDownLatch(1);
    CountDownLatch other = ending.putIfAbsent(row.id(), mine);
    if (other != null) {
      await(other);
      return;
    }
    try {
      Sandbox destroyed = markDestroyed(row);
      CountDownLatch start = starting.get(row.id());
      if (start != null) {
        // Its creator sees the new status, ends the machine and removes the row.
        await(start);
      }
      finishRemoval(destroyed);
    } finally {
      ending.remove(row.id());
      mine.countDown();
    }
  }

  /** Removes what is left of a sandbox in status destroyed. */
  void finishRemoval(Sandbox row) {
    RunningSandbox live = running.remove(row.id());
    if (live != null) {
      try {
        live.destroy();
      } catch (SandboxException e) {
        // The row stays, hidden; the watch tries again, and so does the next start.
        LOG.warn("sandbox {} could not be ended yet: {}", row.id(), e.message());
        live.row(row);
        running.put(row.id(), live);
        return;
      }
      listeners.forEach(listener -> listener.ended(row.id()));
    }
    listeners.forEach(listener -> listener.removed(row.id()));
    recentlyDeleted.add(row.id(), row.tenant());
    store.remove(row.id());
  }

  private Sandbox markDestroyed(Sandbox row) {
    Sandbox current = row;
    while (current.status() != SandboxStatus.DESTROYED) {
      Sandbox next = current.withStatus(SandboxStatus.DESTROYED, Instant.now(), current.failure());
      if (store.transition(current, next)) {
        return next;
      }
      // Somebody else moved it on: start from where it is now. Generations only grow, and every
      // other move ends in a status that nobody but us leaves.
      Sandbox seen = current;
      current =
          store
              .find(row.id())
              .orElse(seen.withStatus(SandboxStatus.DESTROYED, Instant.now(), null));
    }
    return current;
  }

  private Sandbox start(Sandbox row, Engine engine) {
    long begin = System.nanoTime();
    Machine machine;
    try {
      machine =
          engine.start(
              row.id(), new MachineSpec(rules.root(row.image()), row.limits(), null, null));
    } catch (SandboxException e) {
      throw startFailed(row, e);
    } catch (RuntimeException e) {
      throw startFailed(
          row, new SandboxException(ErrorCode.ENGINE_FAILED, "the engine failed: " + e, e));
    }
    Sandbox started =
        row.withApplied(machine.isolation(), machine.limits())
            .withStatus(SandboxStatus.RUNNING, null, null);
    var live = new RunningSandbox(started, machine, this);
    running.put(row.id(), live);
    if (!store.transition(row, started)) {
      running.remove(row.id());
      machine.destroy();
      throw new SandboxException(
          ErrorCode.SANDBOX_GONE, "sandbox " + row.id() + " was deleted while it started");
    }
    telemetry.time("sandboxes_created", Duration.ofNanos(System.nanoTime() - begin));
    return live.snapshot();
  }

  private SandboxException startFailed(Sandbox row, SandboxException reason) {
    telemetry.count("sandboxes_start_failed");
    var failure =
        new Failure(
            "start_failed",
            reason.message(),
            reason.hint().orElse("run 'carrel doctor' to see what this host lacks"));
    store.transition(row, row.withStatus(SandboxStatus.FAILED, Instant.now(), failure));
    return new SandboxException(
            reason.code(),
            "sandbox %s could not start: %s".formatted(row.id(), reason.message()),
            reason)
        .withHint(failure.hint());
  }

  private Sandbox awaitStarted(Caller caller, Sandbox existing) {
    CountDownLatch start = starting.get(existing.id());
    if (start != null) {
      await(start);
    }
    Sandbox now = get(caller, existing.id());
    Failure failure = now.failure();
    if (now.status() == SandboxStatus.FAILED && failure != null) {
      throw new SandboxException(
              ErrorCode.ENGINE_FAILED,
              "sandbox %s could not start: %s".formatted(now.id(), failure.message()))
          .withHint(failure.hint());
    }
    if (now.status() != SandboxStatus.RUNNING) {
      throw gone(now);
    }
    return now;
  }

  private Sandbox row(Caller caller, CreateSandbox request, Engine engine) {
    Instant now = Instant.now();
    return new Sandbox(
        SandboxId.random(),
        caller.tenant(),
        caller.principal(),
        SandboxStatus.CREATING,
        1,
        rules.image(request.image()),
        engine.name(),
        engine.capabilities().runtime(),
        null,
        rules.limits(request),
        rules.idleTimeout(request.idleTimeoutSeconds()),
        false,
        SandboxRules.environment(request.envVars()),
        SandboxRules.metadata(request.metadata()),
        SandboxRules.sessionKey(request.sessionKey()),
        now,
        now,
        null,
        Sandbox.Counters.ZERO,
        null);
  }

  private Sandbox patched(Sandbox now, PatchSandbox patch) {
    SandboxRules.network(patch.networkEnabled());
    if (patch.diskMb() != null && patch.diskMb() != now.limits().disk().mebibytes()) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "disk_mb: the size of the disk never changes")
          .withHint("create a new sandbox with the size you need");
    }
    Limits old = now.limits();
    Limits limits =
        rules.limits(
            orElse(patch.memoryMb(), old.memory().mebibytes()),
            orElse(patch.cpuCores(), old.cpus()),
            old.disk().mebibytes(),
            orElse(patch.pids(), old.pids()));
    Map<String, String> env =
        patch.envVars() == null ? now.envVars() : SandboxRules.environment(patch.envVars());
    Map<String, String> metadata =
        patch.metadata() == null ? now.metadata() : SandboxRules.metadata(patch.metadata());
    if (now.status() == SandboxStatus.CREATING || now.status() == SandboxStatus.RUNNING) {
      refuseWhileRunning(now, limits, env);
    }
    Duration idle =
        patch.idleTimeoutSeconds() == null
            ? now.idleTimeout()
            : rules.idleTimeout(patch.idleTimeoutSeconds());
    return now.withConfiguration(
        new Limits(limits.memory(), limits.cpus(), limits.pids(), old.disk(), old.openFiles()),
        idle,
        env,
        metadata);
  }

  private static void refuseWhileRunning(Sandbox now, Limits limits, Map<String, String> env) {
    var refused = new ArrayList<String>();
    if (limits.memory().mebibytes() != now.limits().memory().mebibytes()) {
      refused.add("memory_mb");
    }
    if (Double.compare(limits.cpus(), now.limits().cpus()) != 0) {
      refused.add("cpu_cores");
    }
    if (limits.pids() != now.limits().pids()) {
      refused.add("pids");
    }
    if (!env.equals(now.envVars())) {
      refused.add("env_vars");
    }
    if (!refused.isEmpty()) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "%s: cannot change while the sandbox is %s"
                  .formatted(String.join(", ", refused), now.status().wireName()))
          .withHint("create a new sandbox, or pass variables with the command");
    }
  }

  private SandboxException full(boolean tenant) {
    telemetry.count("sandboxes_refused_by_limit");
    return tenant
        ? new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "this tenant has %d sandboxes, the most it may have"
                    .formatted(settings.maxSandboxesPerTenant()))
            .withHint(
                "delete one, or raise sandbox.max-count-per-tenant; idle ones stop by"
                    + " themselves")
        : new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "this server has %d sandboxes, the most it may have"
                    .formatted(settings.maxSandboxes()))
            .withHint("delete one, or raise sandbox.max-count; idle ones stop by themselves");
  }

  private void refuseWhenClosed() {
    if (closed) {
      throw new SandboxException(ErrorCode.SHUTTING_DOWN, "the server is shutting down")
          .withHint("sandboxes live on; try again when the server is back");
    }
  }

  private static void destroyQuietly(RunningSandbox sandbox) {
    try {
      sandbox.destroy();
    } catch (SandboxException e) {
      // The engine sweeps what is left of dead machines at its next start.
      LOG.warn("remains of sandbox {} could not be removed: {}", sandbox.id(), e.message());
    }
  }

  private @Nullable RunningSandbox visibleRunning(Caller caller, SandboxId id) {
    RunningSandbox live = running.get(id);
    return live != null
            && live.row().status() == SandboxStatus.RUNNING
            && visible(caller, live.row())
        ? live
        : null;
  }

  private static boolean visible(Caller caller, Sandbox row) {
    return caller.role() == Caller.Role.ADMIN || row.tenant().equals(caller.tenant());
  }

  private static SandboxException notFound(SandboxId id) {
    return new SandboxException(ErrorCode.SANDBOX_NOT_FOUND, "there is no sandbox " + id);
  }

  private static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static <T> T orElse(@Nullable T value, T other) {
    return value == null ? other : value;
  }
}
