package dev.carrel.control.sandbox;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.store.Database;
import dev.carrel.control.store.Reserve;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sandboxes of this server: made, found, changed and removed. Safe for many threads; who only
 * looks never waits for who changes.
 */
public final class Sandboxes {
  /** There is nothing to take back: nobody has noted the id of the one to be. */
  public static final Runnable NOTHING_NOTED = () -> {};

  /** For {@link #obtain(Caller, CreateSandbox, Function)}: nobody wants to know. */
  public static final Function<SandboxId, Runnable> NOTHING_TO_NOTE = _ -> NOTHING_NOTED;

  private static final Logger LOG = LoggerFactory.getLogger(Sandboxes.class);
  private static final Duration NETWORK_PATIENCE = Duration.ofSeconds(10);

  /** For a change of limits, and before that for its turn. */
  private static final Duration LIMITS_TIME = Duration.ofSeconds(10);

  private final SandboxRules rules;
  private final SandboxStore store;
  private final VolumeStore volumeStore;
  private final WorkspaceVolumes volumes;
  private final WayOut wayOut;
  private final Life life;
  private final NamedVolumes named;
  private final Snapshots snapshots;
  private final Births births;
  private final Unshared unshared = new Unshared();
  private final TenantTurns limiting = new TenantTurns("changes of limits", LIMITS_TIME);
  private final Events events;
  private final SandboxJournal journal;
  private volatile boolean closed;

  public Sandboxes(
      Supplier<SandboxSettings> settings,
      PoolSettings poolSettings,
      RootImages images,
      Engines engines,
      WayOut wayOut,
      Database database,
      Telemetry telemetry,
      Events events,
      SandboxJournal journal,
      InstantSource clock) {
    this.rules = new SandboxRules(settings, images);
    var room = new Room(settings, telemetry);
    this.store = new SandboxStore(database, journal);
    this.events = events;
    this.journal = journal;
    LifeSettings times = settings.get().life();
    this.volumeStore = new VolumeStore(database);
    this.volumes = new WorkspaceVolumes(volumeStore, engines, times.orphanMinAge());
    this.wayOut = wayOut;
    this.life =
        new Life(
            times,
            new Machines(engines, rules, wayOut),
            wayOut,
            room,
            store,
            volumes,
            telemetry,
            events,
            clock);
    life.listen(wayOut);
    room.eviction(new Eviction(() -> settings.get().life().evictWhenFull(), life, telemetry));
    this.named = new NamedVolumes(engines, rules, volumeStore, volumes, times, journal);
    this.snapshots =
        new Snapshots(
            this, new SnapshotStore(database), volumeStore, volumes, events, times, journal);
    this.births =
        new Births(
            settings,
            rules,
            engines,
            room,
            store,
            volumes,
            wayOut,
            life,
            snapshots,
            poolSettings,
            telemetry,
            events,
            unshared);
    life.listen(unshared);
  }

  /** Names that {@code image} may have. */
  public Set<String> images() {
    return rules.images();
  }

  /** What is made ahead of need. */
  public WarmPools pools() {
    return births.pools();
  }

  /** To be called before the first sandbox exists. */
  public void listen(SandboxListener listener) {
    life.listen(listener);
  }

  /** As {@link #obtain}. */
  public Sandbox create(Caller caller, CreateSandbox request) {
    return obtain(caller, request).sandbox();
  }

  /**
   * Starts a sandbox, or gives the one with the same session key: as it is, resumed or started
   * again. A new one that could not be started stays listed as failed.
   */
  public Obtained obtain(Caller caller, CreateSandbox request) {
    return obtain(caller, request, NOTHING_TO_NOTE);
  }

  /**
   * As {@link #obtain(Caller, CreateSandbox)}.
   *
   * @param about told the id of a new one before there is anything of it; what it returns is run
   *     when that one does not come to be, or is {@link #NOTHING_NOTED}
   */
  public Obtained obtain(
      Caller caller, CreateSandbox request, Function<SandboxId, Runnable> about) {
    refuseWhenClosed();
    return Actor.by(caller, () -> births.obtain(caller, request, about));
  }

  public Sandbox get(Caller caller, SandboxId id) {
    RunningSandbox live = visibleRunning(caller, id);
    if (live != null) {
      return live.snapshot();
    }
    return store
        .find(id)
        .filter(row -> visible(caller, row) && row.status() != SandboxStatus.DESTROYED)
        .orElseThrow(() -> Failures.notFound(id));
  }

  public SandboxPage list(Caller caller, SandboxQuery query) {
    SandboxPage page = store.page(tenant(caller), query);
    List<Sandbox> fresh =
        page.items().stream()
            .map(
                row -> {
                  RunningSandbox live = life.find(row.id());
                  return live == null ? row : live.snapshot();
                })
            .toList();
    return new SandboxPage(fresh, page.total(), page.page(), page.pageSize(), page.statusCounts());
  }

  /** How it came to its status: the last changes, oldest first. */
  public List<Transition> journal(Caller caller, SandboxId id) {
    requireVisible(caller, id);
    return store.journal(id);
  }

  /**
   * Changes what may be changed. Limits change live where the engine can; the environment only
   * while there is no machine, the disk never.
   */
  public Sandbox patch(Caller caller, SandboxId id, PatchSandbox patch) {
    requireVisible(caller, id);
    try (Turn _ = life.turn(id)) {
      Sandbox now = get(caller, id);
      Sandbox next =
          rules
              .patched(now, patch)
              .edit()
              .network(wayOut.settle(patch.network(), now.network()))
              .build();
      RunningSandbox live = life.find(id);
      next =
          live == null // somebody wants it still: that puts its removal off
              ? next.edit().activity(life.now(), now.counters()).build()
              : applied(live, now, next);
      if (!store.configure(now, next)) {
        throw new SandboxException(
            ErrorCode.WRONG_STATE, "sandbox " + id + " changed its status meanwhile; look again");
      }
      if (live != null) {
        live.row(next);
        live.touch(); // as above: a shorter time to be idle begins now
        wayOut.apply(next);
      }
      journal.done(caller, now.tenant(), now.namespace(), id, "sandbox.patch", id.value());
      if (!next.network().equals(now.network())) {
        events.tell(now.tenant(), now.namespace(), Event.SANDBOX_POLICY, id, Map.of());
      }
    }
    return get(caller, id);
  }

  /**
   * Lets what they may reach take effect anew. One that is busy for long delays no other; for it,
   * this may come true after the return.
   */
  public void networkChanged(Predicate<Sandbox> which) {
    var busy = new ArrayList<Thread>();
    for (RunningSandbox live : life.running()) {
      if (which.test(live.row())) {
        // In its turn: a change of its policy must not be undone by an older one.
        life.turns().run(live.id(), () -> applyNetwork(live)).ifPresent(busy::add);
      }
    }
    long end = System.nanoTime() + NETWORK_PATIENCE.toNanos();
    try {
      for (Thread thread : busy) {
        if (!thread.join(Duration.ofNanos(Math.max(0, end - System.nanoTime())))) {
          LOG.warn("{}: what it may reach changes when it is no longer busy", thread.getName());
        }
      }
    } catch (InterruptedException e) {
      // They go on without us.
      Thread.currentThread().interrupt();
    }
  }

  private void applyNetwork(RunningSandbox live) {
    if (live.equals(life.find(live.id()))) {
      wayOut.apply(live.row());
    }
  }

  /** One that callers can see, whosever it is. */
  public Optional<Sandbox> find(SandboxId id) {
    RunningSandbox live = life.find(id);
    return live != null
        ? Optional.of(live.snapshot())
        : store.find(id).filter(row -> row.status() != SandboxStatus.DESTROYED);
  }

  /** The caller's own with this session key, if it is there or can be started again. */
  public Optional<Sandbox> findByKey(Caller caller, String sessionKey) {
    return store
        .findByKey(caller.tenant(), sessionKey)
        .map(
            row -> {
              unshared.remove(row.id());
              RunningSandbox live = life.find(row.id());
              return live == null ? row : live.snapshot();
            });
  }

  /** Of those that have a machine. */
  public Stream<SandboxId> liveIds() {
    return life.running().stream().map(RunningSandbox::id);
  }

  /** One that has a machine now, whosever it is. */
  public Optional<RunningSandbox> running(SandboxId id) {
    return Optional.ofNullable(life.find(id));
  }

  /** Starts one that has ended with its files, or lets a paused one go on. */
  public Sandbox start(Caller caller, SandboxId id) {
    refuseWhenClosed();
    requireVisible(caller, id);
    unfreeze(caller, id);
    return Actor.by(caller, () -> life.start(id, "asked"));
  }

  /** Ends its machine and keeps its volume. */
  public Sandbox stop(Caller caller, SandboxId id) {
    requireVisible(caller, id);
    return Actor.by(caller, () -> life.stop(id, Failures.asked()));
  }

  /** Holds all its processes where they are; the next call lets them go on. */
  public Sandbox pause(Caller caller, SandboxId id) {
    requireVisible(caller, id);
    return Actor.by(caller, () -> life.pause(id, "asked"));
  }

  /** Lets a paused or frozen one go on. */
  public Sandbox resume(Caller caller, SandboxId id) {
    unfreeze(caller, id);
    return requireRunning(caller, id).snapshot();
  }

  /** Removes the sandbox and everything in it, whatever its status; twice is as good as once. */
  public void delete(Caller caller, SandboxId id) {
    RunningSandbox live = visibleRunning(caller, id);
    Sandbox row =
        live != null
            ? live.snapshot()
            : store.find(id).filter(found -> visible(caller, found)).orElse(null);
    if (row != null) {
      Reserve.forRemoval(
          () ->
              Actor.by(
                  caller,
                  () -> {
                    life.remove(row, "asked");
                    return row;
                  }));
    } else if (!store.deleted(id, tenant(caller))) {
      throw Failures.notFound(id);
    }
  }

  /**
   * Deletes one that was made and is not wanted, unless its session key led others to it. False: it
   * stays, also when this server ends, which says nothing of what is wanted.
   */
  public boolean deleteUnlessShared(Caller caller, SandboxId id) {
    try (Turn _ = life.turn(id)) {
      boolean alone = !closed && unshared.remove(id);
      if (alone) {
        delete(caller, id);
      }
      return alone;
    }
  }

  /**
   * The sandbox with its machine, to be used at once: a paused one goes on. Throws what says why
   * there is none.
   */
  public RunningSandbox requireRunning(Caller caller, SandboxId id) {
    refuseWhenClosed();
    RunningSandbox live = visibleRunning(caller, id);
    if (live == null) {
      throw Failures.notRunning(get(caller, id));
    }
    live.requireNotFrozen();
    live.touch();
    if (live.paused()) {
      Actor.by(
          caller,
          () -> {
            life.resume(live, "used");
            return live;
          });
    }
    return live;
  }

  /** Whether there is still something of it, seen or not. */
  public boolean exists(SandboxId id) {
    return store.find(id).isPresent();
  }

  /** Whether there was one with this id that the caller could see. */
  public boolean wasDeleted(Caller caller, SandboxId id) {
    return store.deleted(id, tenant(caller));
  }

  /** What one uses now; as if nothing when it does not run. */
  public SandboxUsage usage(Caller caller, SandboxId id) {
    RunningSandbox live = visibleRunning(caller, id);
    return live == null ? new SandboxUsage(get(caller, id), Machine.Usage.NONE, null) : live.look();
  }

  /** What those use that run or are paused, at most so many. */
  public List<SandboxUsage> usage(Caller caller, int limit) {
    return life.running().stream()
        .filter(live -> visible(caller, live.row()))
        .limit(limit)
        .map(RunningSandbox::look)
        .toList();
  }

  /** Checks that the caller may see the sandbox, running or not. */
  public void requireVisible(Caller caller, SandboxId id) {
    if (visibleRunning(caller, id) == null) {
      get(caller, id);
    }
  }

  /** The volumes that outlive sandboxes. */
  public NamedVolumes namedVolumes() {
    return named;
  }

  /** Copies of files, and what can be made of them. */
  public Snapshots snapshots() {
    return snapshots;
  }

  /** How many sandboxes there are in each status, of all tenants. */
  public Map<SandboxStatus, Long> counts() {
    return store.page(null, SandboxQuery.all()).statusCounts();
  }

  /**
   * News of all sandboxes that the caller may see.
   *
   * @param after the last event seen; null: from now on
   */
  public Events.Subscription events(Caller caller, @Nullable Long after) {
    return events(caller, EventFilter.of(null), after);
  }

  /**
   * What happens, as far as the caller may see it.
   *
   * @param filter its tenant is the caller's, unless that is an administrator
   */
  public Events.Subscription events(Caller caller, EventFilter filter, @Nullable Long after) {
    return events.listen(visible(caller, filter), after);
  }

  /** The last events that are kept. */
  public List<Event> recentEvents(Caller caller, EventFilter filter, int limit) {
    return events.recent(visible(caller, filter), limit);
  }

  private EventFilter visible(Caller caller, EventFilter filter) {
    SandboxId sandbox = filter.sandbox();
    if (sandbox != null) {
      requireVisible(caller, sandbox);
    }
    return new EventFilter(tenant(caller), filter.namespace(), sandbox, filter.kinds());
  }

  /** News of one sandbox. */
  public Events.Subscription events(Caller caller, SandboxId id, @Nullable Long after) {
    return events(caller, EventFilter.of(null).withSandbox(id), after);
  }

  /** From now on nothing is started; what runs goes on. */
  public void close() {
    closed = true;
  }

  /** Stops all that runs, all at once. */
  public void stopAll() {
    var stopping = new ArrayList<Thread>();
    for (RunningSandbox sandbox : life.running()) {
      stopping.add(
          Thread.ofVirtual().name("stop-" + sandbox.id()).start(() -> stopQuietly(sandbox)));
    }
    boolean interrupted = false;
    for (Thread thread : stopping) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void stopQuietly(RunningSandbox sandbox) {
    try {
      life.stop(sandbox.id(), Failures.shutdown());
    } catch (SandboxException e) {
      // The next start sees to what did not end in order.
      LOG.warn("sandbox {} was not stopped: {}", sandbox.id(), e.message());
    }
  }

  Life life() {
    return life;
  }

  SandboxStore store() {
    return store;
  }

  /** Finishes what an earlier process began; to be called when all machines are known. */
  void recoverVolumes() {
    Reserve.forRemoval(volumeStore::releaseAll);
    try {
      sweepVolumes();
    } catch (RuntimeException e) {
      // The watch does it again.
      LOG.warn("volumes that belong to nobody were not removed yet", e);
    }
  }

  /** Removes volumes that belong to nobody. */
  void sweepVolumes() {
    snapshots.sweep();
    volumes.sweep(life::turn, births.pools()::volumes);
  }

  /** A new one like {@code source}; the caller has that one's turn. */
  Sandbox fork(Caller caller, Sandbox source, Sandbox.Volume files) {
    refuseWhenClosed();
    return Actor.by(caller, () -> births.fork(caller, source, files));
  }

  private void unfreeze(Caller caller, SandboxId id) {
    RunningSandbox live = visibleRunning(caller, id);
    if (live != null && live.row().frozen() != null) {
      life.freezing().release(live);
    }
  }

  private Sandbox applied(RunningSandbox live, Sandbox now, Sandbox next) {
    var refused = new ArrayList<String>();
    if (!next.envVars().equals(now.envVars())) {
      refused.add("env_vars");
    }
    if (refused.isEmpty() && !next.limits().equals(now.limits())) {
      try {
        limiting.call(
            now.tenant(),
            "limits of " + live.id(),
            LIMITS_TIME,
            () -> live.machine().limit(next.limits()),
            _ -> {});
      } catch (SandboxException e) {
        if (e.code() != ErrorCode.NOT_SUPPORTED) {
          throw e;
        }
        refused.addAll(different(now.limits(), next.limits()));
      }
    }
    if (!refused.isEmpty()) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "%s: cannot change while the sandbox is %s"
                  .formatted(String.join(", ", refused), now.status().wireName()))
          .withHint(
              now.persistent()
                  ? "stop it, change it, and start it again; or pass variables with the command"
                  : "create a new sandbox, or pass variables with the command");
    }
    return next.edit().applied(live.machine().isolation(), live.machine().limits()).build();
  }

  private static List<String> different(Limits now, Limits next) {
    var names = new ArrayList<String>();
    if (!next.memory().equals(now.memory())) {
      names.add("memory_mb");
    }
    if (Double.compare(next.cpus(), now.cpus()) != 0) {
      names.add("cpu_cores");
    }
    if (next.pids() != now.pids()) {
      names.add("pids");
    }
    return names;
  }

  private void refuseWhenClosed() {
    if (closed) {
      throw new SandboxException(ErrorCode.SHUTTING_DOWN, "the server is shutting down")
          .withHint("sandboxes live on; try again when the server is back");
    }
  }

  private @Nullable RunningSandbox visibleRunning(Caller caller, SandboxId id) {
    RunningSandbox live = life.find(id);
    return live != null && visible(caller, live.row()) ? live : null;
  }

  private static boolean visible(Caller caller, Sandbox row) {
    return caller.role() == Caller.Role.ADMIN || row.tenant().equals(caller.tenant());
  }

  /** Null: whosever. */
  private static @Nullable String tenant(Caller caller) {
    return caller.role() == Caller.Role.ADMIN ? null : caller.tenant();
  }

  /**
   * What came of asking for a sandbox.
   *
   * @param made whether it is new
   */
  public record Obtained(Sandbox sandbox, boolean made) {}
}
