package dev.carrel.control.sandbox;

import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.SandboxStore.Reservation;
import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves sandboxes from status to status. One writer per sandbox, which has its turn; every step is
 * bounded in time and in the journal. A row moves before its machine ends and after it started, so
 * that whatever a crash leaves behind is finished by the next start.
 *
 * <p>A machine belongs to one {@link RunningSandbox}: what is heard of a machine that was replaced
 * changes nothing.
 */
final class Life {
  private static final Logger LOG = LoggerFactory.getLogger(Life.class);
  static final Duration FREEZE_LIMIT = Duration.ofSeconds(10);
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final LifeSettings settings;
  private final Machines machines;
  private final WayOut wayOut;
  private final Room room;
  private final SandboxStore store;
  private final WorkspaceVolumes volumes;
  private final Telemetry telemetry;
  private final Events events;
  private final InstantSource clock;
  private final Turns turns = new Turns();
  private final List<SandboxListener> listeners = new CopyOnWriteArrayList<>();
  private final Map<SandboxId, RunningSandbox> running = new ConcurrentHashMap<>();
  private final Remains remains;
  private final FailedStarts failures;
  private final Freezing freezing;
  private final Pauses pauses;

  Life(
      LifeSettings settings,
      Machines machines,
      WayOut wayOut,
      Room room,
      SandboxStore store,
      WorkspaceVolumes volumes,
      Telemetry telemetry,
      Events events,
      InstantSource clock) {
    this.settings = settings;
    this.machines = machines;
    this.wayOut = wayOut;
    this.room = room;
    this.store = store;
    this.volumes = volumes;
    this.telemetry = telemetry;
    this.events = events;
    this.clock = clock;
    this.remains = new Remains(store, volumes, listeners);
    this.failures = new FailedStarts(store, volumes, telemetry, this::now, this::tell);
    this.freezing = new Freezing(this, store, events);
    this.pauses = new Pauses(this, listeners, telemetry);
  }

  /** From its machines to the network. */
  WayOut wayOut() {
    return wayOut;
  }

  /** The time by which lives are measured. */
  Instant now() {
    return clock.instant();
  }

  void listen(SandboxListener listener) {
    listeners.add(listener);
  }

  /** Asks every feature whether a sandbox may be made. */
  void requested(Caller caller, CreateSandbox request) {
    listeners.forEach(listener -> listener.requested(caller, request));
  }

  Freezing freezing() {
    return freezing;
  }

  /** Running and paused ones. */
  Collection<RunningSandbox> running() {
    return running.values();
  }

  @Nullable RunningSandbox find(SandboxId id) {
    return running.get(id);
  }

  /** The right to change it; waits for whoever has it. */
  Turn turn(SandboxId id) {
    return turns.take(id, settings.startTimeout().plus(PATIENCE));
  }

  Turns turns() {
    return turns;
  }

  /** As {@link #launch(Sandbox, String, Runnable)}, with the files that are there. */
  Sandbox launch(Sandbox row, String cause) {
    return launch(row, cause, () -> {});
  }

  /**
   * From creating to running. The caller has the turn. One that cannot start is failed.
   *
   * @param files brings its files to their place
   */
  Sandbox launch(Sandbox row, String cause, Runnable files) {
    long begin = System.nanoTime();
    return begin(row, new RunningSandbox(row, cold(row, files), this), cause, begin);
  }

  /**
   * As {@link #launch(Sandbox, String)}, with a box that was made before its owner came.
   *
   * @param answers whether it still does; another machine takes its place if not
   */
  Sandbox launch(
      Sandbox row, RunningSandbox box, CompletableFuture<Boolean> answers, String cause) {
    long begin = System.nanoTime();
    boolean fits = answers.join();
    try {
      // By what each was asked for: a machine without a volume has settled on less disk than that.
      if (fits && !row.limits().equals(box.row().limits())) {
        // Nobody's code is in it that could keep memory back: this needs no turn of the tenant's.
        Bounded.run("limits of " + box.id(), FREEZE_LIMIT, () -> box.machine().limit(row.limits()));
      }
    } catch (RuntimeException e) {
      LOG.info("box {} cannot have the limits asked for: {}", box.id(), e.toString());
      fits = false;
    }
    if (!fits) {
      end(box, Duration.ZERO);
      try {
        remains.requireNone(row.id());
      } catch (SandboxException e) {
        throw failures.note(row, e);
      }
      return launch(row, cause);
    }
    return begin(row, box, cause, begin);
  }

  /** A machine for what has no row yet. */
  RunningSandbox box(Sandbox row) {
    return new RunningSandbox(row, cold(row, () -> {}), this);
  }

  /** Ends a box that never had an owner. */
  void discard(RunningSandbox box) {
    box.discard();
    remains.end(box, Duration.ZERO);
    listeners.forEach(listener -> listener.removed(box.id()));
    if (!remains.are(box.id())) {
      volumes.drop(box.row());
    }
  }

  private Machine cold(Sandbox row, Runnable files) {
    Machine machine;
    try {
      files.run();
      remains.expect(row.id());
      machine =
          Bounded.call(
              "start of " + row.id(),
              settings.startTimeout(),
              () -> obtain(row),
              late -> giveUp(row.id(), late));
    } catch (RuntimeException e) {
      throw failures.note(row, e);
    }
    remains.came(row.id());
    return machine;
  }

  private Sandbox begin(Sandbox row, RunningSandbox live, String cause, long begin) {
    Machine machine = live.machine();
    Instant now = now().truncatedTo(ChronoUnit.MILLIS);
    Sandbox started =
        row.edit()
            .status(SandboxStatus.RUNNING)
            .applied(machine.isolation(), machine.limits())
            .started(now)
            // Somebody wanted it: what was before its last end does not make it idle.
            .activity(now, row.counters())
            .build();
    live.row(started);
    live.touch();
    boolean written;
    try {
      wayOut.begin(started, row.startedAt() == null);
      admit(live);
      written = store.transition(row, started, cause);
    } catch (RuntimeException e) {
      // What is not written down did not happen.
      end(live, Duration.ZERO);
      throw failures.note(row, e);
    }
    if (!written) {
      end(live, Duration.ZERO);
      throw new SandboxException(
          ErrorCode.SANDBOX_GONE, "sandbox " + row.id() + " was deleted while it started");
    }
    telemetry.time("sandboxes_started", Duration.ofNanos(System.nanoTime() - begin));
    tell(started, "started", cause);
    return live.snapshot();
  }

  /**
   * Makes it run: starts one that has ended with a new machine, lets a paused one go on, and leaves
   * a running one as it is.
   */
  Sandbox start(SandboxId id, String cause) {
    try (Turn _ = turn(id)) {
      RunningSandbox live = running.get(id);
      if (live != null) {
        live.touch(); // whoever comes back to it uses it, also before his first call
        resume(live, cause);
        return live.snapshot();
      }
      Sandbox row = store.settled(id).orElseThrow(() -> Failures.notFound(id));
      if (!row.restartable()) {
        throw Failures.notRunning(row);
      }
      remains.requireNone(id);
      Sandbox next = row.edit().status(SandboxStatus.CREATING).ended(row.stoppedAt(), null).build();
      return switch (room.take(row.tenant(), limit -> store.revive(row, next, cause, limit))) {
        case Reservation.Made(Sandbox creating) -> launch(creating, cause);
        default -> throw Failures.changed(id);
      };
    }
  }

  /** Ends the machine, politely first, and keeps the volume. One that has stopped stays so. */
  Sandbox stop(SandboxId id, Failure why) {
    try (Turn _ = turn(id)) {
      RunningSandbox live = running.get(id);
      if (live == null) {
        Sandbox row = store.find(id).orElseThrow(() -> Failures.notFound(id));
        if (row.status() == SandboxStatus.STOPPED) {
          return row;
        }
        throw Failures.notRunning(row);
      }
      return stop(live, why);
    }
  }

  /** As {@link #stop(SandboxId, Failure)}; the caller has the turn. */
  Sandbox stop(RunningSandbox live, Failure why) {
    Sandbox stopped = markStopped(live, why);
    endStopped(live);
    return stopped;
  }

  /** The first half of a stop: until the machine has ended nobody else can use its volume. */
  Sandbox markStopped(RunningSandbox live, Failure why) {
    return move(live, SandboxStatus.STOPPED, why);
  }

  /** The second half of a stop. */
  void endStopped(RunningSandbox live) {
    end(live, settings.stopGrace());
  }

  /** Stops it unless somebody has used it since {@code uses} were counted. */
  boolean stopUnused(RunningSandbox live, long uses, Failure why) {
    try (Turn _ = turn(live.id())) {
      if (running.get(live.id()) != live || live.uses() != uses || live.active()) {
        return false;
      }
      stop(live, why);
      return true;
    }
  }

  /** Removes it unless somebody has used it since {@code uses} were counted. */
  void removeUnused(RunningSandbox live, long uses, String cause) {
    try (Turn _ = turn(live.id())) {
      if (running.get(live.id()) == live && live.uses() == uses && !live.active()) {
        remove(live.snapshot(), cause);
      }
    }
  }

  /** Holds every process where it is. */
  Sandbox pause(SandboxId id, String cause) {
    try (Turn _ = turn(id)) {
      RunningSandbox live = running.get(id);
      if (live == null) {
        throw Failures.notRunning(store.find(id).orElseThrow(() -> Failures.notFound(id)));
      }
      pauses.hold(live, cause);
      live.touch(); // somebody wants it as it is
      return live.snapshot();
    }
  }

  /**
   * Pauses it unless somebody has used it since {@code uses} were counted. Whoever comes between
   * either sees that it is paused and resumes it, or is seen here.
   */
  boolean pauseUnused(RunningSandbox live, long uses, String cause) {
    try (Turn _ = turn(live.id())) {
      if (running.get(live.id()) != live || live.paused()) {
        return false;
      }
      pauses.hold(live, cause);
      if (live.uses() != uses || live.busy()) {
        resume(live, "used");
        return false;
      }
      return true;
    }
  }

  /** Lets it go on if it is paused; throws when its machine is gone. */
  void resume(RunningSandbox live, String cause) {
    try (Turn _ = turn(live.id())) {
      if (running.get(live.id()) != live) {
        throw Failures.notRunning(current(live));
      }
      pauses.resume(live, cause);
    }
  }

  /** The machine died by itself, or so somebody says. Returns the row as it is now. */
  Sandbox died(RunningSandbox live) {
    try (Turn _ = turn(live.id())) {
      if (running.get(live.id()) != live) {
        return current(live);
      }
      Machine.Death death =
          live.machine()
              .death()
              .orElse(new Machine.Death(Machine.Death.Cause.UNKNOWN, "it no longer answers"));
      Sandbox failed = move(live, SandboxStatus.FAILED, Failures.of(death));
      end(live, Duration.ZERO);
      return failed;
    }
  }

  /** Takes over a machine that an earlier process started, and makes it what its row says. */
  RunningSandbox adopt(Sandbox row, Machine machine) {
    var adopted = new RunningSandbox(row, machine, this);
    adopted.usageBefore(); // much may have run in it
    boolean paused = row.status() == SandboxStatus.PAUSED;
    if (paused && !machine.paused()) {
      Bounded.run("pause of " + row.id(), FREEZE_LIMIT, machine::pause);
    } else if (!paused && machine.paused()) {
      Bounded.run("resume of " + row.id(), FREEZE_LIMIT, machine::resume);
    }
    adopted.paused(paused);
    wayOut.open(row.id());
    wayOut.begin(row, false);
    admit(adopted);
    return adopted;
  }

  /** Ends a machine that an earlier process left and nobody may use. */
  void end(Sandbox row, Machine machine) {
    remains.end(new RunningSandbox(row, machine, this), Duration.ZERO);
  }

  /** Notes the end of one that has no machine, at once or as soon as the store lets it. */
  void fail(Sandbox row, Failure why) {
    failures.note(row, why);
  }

  /** From now on others see it. */
  private void admit(RunningSandbox live) {
    listeners.forEach(listener -> listener.started(live));
    running.put(live.id(), live);
  }

  /** Removes a row with its machine and its volume, whatever its status. */
  void remove(Sandbox row, String cause) {
    // Without the turn: whoever starts it sees that it is not wanted any more.
    boolean mine = markDestroyed(row, cause);
    try (Turn _ = turns.takeAtLast(row.id())) {
      RunningSandbox live = mine ? running.get(row.id()) : null;
      (live == null ? store.find(row.id()) : Optional.of(live.row()))
          .ifPresent(this::finishRemoval);
    }
  }

  /** Removes one that ended long ago, unless somebody has started it since it was looked at. */
  void removeEnded(Sandbox row) {
    try (Turn _ = turns.takeAtLast(row.id())) {
      Instant seen = row.lastActivityAt();
      // Whoever changed it since it was looked at has put this off.
      boolean due =
          store.find(row.id()).filter(now -> now.lastActivityAt().equals(seen)).isPresent();
      if (due && store.transition(row, destroyed(row), "retention")) {
        store.find(row.id()).ifPresent(this::finishRemoval);
      }
    }
  }

  /**
   * Removes what is left of a sandbox in status destroyed. The caller has the turn, or is alone.
   */
  void finishRemoval(Sandbox row) {
    SandboxId id = row.id();
    RunningSandbox live = running.getOrDefault(id, remains.find(id));
    if (live != null) {
      live.takeUnsaved(); // nobody will read its counters
      if (row.volume() != null && row.volume().name() == null) {
        live.discard();
      }
      end(live, Duration.ZERO);
    }
    if (remains.are(id)) {
      // The row stays, hidden; the watch tries again, and so does the next start.
      return;
    }
    listeners.forEach(listener -> listener.removed(id));
    if (store.remove(row, volumes.erase(row), listeners)) {
      telemetry.count("sandboxes_destroyed");
      tell(row, "destroyed", "removed");
    }
  }

  private Machine obtain(Sandbox row) {
    try {
      return machines.obtain(row);
    } catch (RuntimeException e) {
      remains.came(row.id());
      throw e;
    }
  }

  private void giveUp(SandboxId id, Machine late) {
    LOG.warn("sandbox {} started after it was given up: ended", id);
    try {
      late.destroy();
    } catch (RuntimeException e) {
      // A loop's end: the engine sweeps what is left at the next start.
      LOG.error("the late machine of sandbox {} could not be ended", id, e);
    } finally {
      wayOut.close(id);
      remains.came(id);
    }
  }

  private Sandbox move(RunningSandbox live, SandboxStatus status, Failure why) {
    Sandbox moved = move(live, status, why, why.cause());
    telemetry.count("sandboxes_ended_" + why.cause());
    return moved;
  }

  Sandbox move(RunningSandbox live, SandboxStatus status, @Nullable Failure why, String cause) {
    Sandbox before = live.snapshot();
    Sandbox after = before.edit().status(status).ended(why == null ? null : now(), why).build();
    if (!store.transition(before, after, cause)) {
      // Only a removal does not wait for its turn.
      throw Failures.notFound(live.id());
    }
    live.row(after);
    tell(
        after,
        before.status() == SandboxStatus.PAUSED && status == SandboxStatus.RUNNING
            ? "resumed"
            : status.wireName(),
        cause);
    return after;
  }

  /** Announces an end that has not come yet. */
  void tell(Sandbox row, Instant end, IdlePolicy.Verdict.End then) {
    events.tell(
        row.tenant(),
        row.namespace(),
        "sandbox.expiring",
        row.id(),
        Map.of("at", end.toString(), "then", then.how().wireName(), "cause", then.why().cause()));
  }

  private void tell(Sandbox row, String what, String cause) {
    events.tell(row.tenant(), row.namespace(), "sandbox." + what, row.id(), Map.of("cause", cause));
  }

  /** Ends a machine that nobody may use any more. */
  private void end(RunningSandbox live, Duration grace) {
    running.remove(live.id(), live);
    remains.end(live, grace);
  }

  /** Tries again to end what did not end before. */
  void endRemains() {
    remains.endAll(this::turn);
  }

  /** Tries again to write down what a full disk or a held store kept us from writing. */
  void writeRemains() {
    failures.writeRemains();
  }

  /** False: somebody else did. */
  private boolean markDestroyed(Sandbox row, String cause) {
    Sandbox current = row;
    while (current != null && current.status() != SandboxStatus.DESTROYED) {
      if (store.transition(current, destroyed(current), cause)) {
        return true;
      }
      // Somebody else moved it on: start from where it is now.
      current = store.find(row.id()).orElse(null);
    }
    return false;
  }

  private Sandbox destroyed(Sandbox row) {
    return row.edit().status(SandboxStatus.DESTROYED).ended(now(), row.failure()).build();
  }

  private Sandbox current(RunningSandbox live) {
    return store
        .find(live.id())
        .orElseGet(() -> live.snapshot().edit().status(SandboxStatus.DESTROYED).build());
  }
}
