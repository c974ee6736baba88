package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.store.Reserve;
import dev.carrel.spi.Alarm;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after the sandboxes from time to time: notices dead machines, stops idle ones, removes what
 * has been over for long, and writes counters.
 */
public final class SandboxWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SandboxWatch.class);
  private static final Duration SWEEP_INTERVAL = Duration.ofSeconds(30);
  private static final Duration DELETED_RETENTION = Duration.ofDays(7);
  // Files go then: whoever wants them has to read of it in time.
  private static final Duration REMOVAL_WARNING = Duration.ofHours(1);
  private static final Duration LAST_ENDS = Duration.ofSeconds(5);
  // A thousand may be due at the same moment, and others want to use theirs meanwhile.
  private static final int ENDS_AT_ONCE = 16;
  private static final Duration PLACE_LIMIT = Duration.ofSeconds(1);
  // Whose failures take longer than that gives no answer at all.
  private static final Duration SILENCE = Duration.ofSeconds(2);

  private final Sandboxes sandboxes;
  private final Life life;
  private final SandboxStore store;
  private final Supplier<SandboxSettings> settings;
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Thread thread;
  // Each takes its time, and may wait for whoever has the sandbox's turn: nobody waits with it.
  private final Map<SandboxId, Thread> ends = new ConcurrentHashMap<>();
  private final Semaphore places = new Semaphore(ENDS_AT_ONCE, true);
  // Those whose engine gave no answer when it was asked about them last.
  private final Set<SandboxId> unanswered = new HashSet<>();
  private @Nullable Thread sweeping;
  private Instant nextSweep;
  // The removal of all that ended before was told of.
  private Instant announced = Instant.EPOCH;

  public SandboxWatch(Sandboxes sandboxes, Supplier<SandboxSettings> settings) {
    this.sandboxes = sandboxes;
    this.life = sandboxes.life();
    this.store = sandboxes.store();
    this.settings = settings;
    this.nextSweep = life.now();
    this.thread = Thread.ofVirtual().name("sandbox-watch").start(this::watch);
  }

  /** Writes the last counters and stops watching. */
  @Override
  public void close() {
    stop.countDown();
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        if (sweeping != null) {
          sweeping.join();
        }
        long until = System.nanoTime() + LAST_ENDS.toNanos();
        for (Thread end : ends.values()) {
          // Whoever has the turn may keep it for long; then the end is the next server's to bring.
          boolean _ = end.join(Duration.ofNanos(until - System.nanoTime()));
        }
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    saveCounters();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void watch() {
    try {
      while (!stop.await(settings.get().watchInterval().toMillis(), TimeUnit.MILLISECONDS)) {
        try {
          look();
        } catch (RuntimeException e) {
          // The top of a loop: one bad round must not end the watch.
          LOG.error("a look at the sandboxes failed", e);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void look() {
    Instant now = life.now();
    life.writeRemains();
    SandboxSettings current = settings.get();
    var round =
        new Round(
            new IdlePolicy(current.stoppedRetention(), current.life().warning()),
            now,
            current.life().evictWhenFull(),
            new HashSet<>());
    ends.values().removeIf(end -> !end.isAlive());
    for (RunningSandbox sandbox : silentLast()) {
      if (!round.silent.contains(sandbox.row().engine())) {
        seeTo(sandbox.id(), () -> look(sandbox, round));
      }
    }
    saveCounters();
    if (now.isAfter(nextSweep) && (sweeping == null || !sweeping.isAlive())) {
      nextSweep = now.plus(SWEEP_INTERVAL);
      // Machines that do not end take their time, each of them.
      sweeping = Thread.ofVirtual().name("sandbox-sweep").start(() -> sweep(now));
    }
  }

  /**
   * In each round one machine alone waits for an engine that hangs, and the others of that engine
   * are left for later: so none that gave no answer the last time may come before them again.
   */
  private List<RunningSandbox> silentLast() {
    var running = new ArrayList<>(life.running());
    if (!unanswered.isEmpty()) {
      unanswered.retainAll(running.stream().map(RunningSandbox::id).collect(Collectors.toSet()));
      running.sort(Comparator.comparing(sandbox -> unanswered.contains(sandbox.id())));
    }
    return running;
  }

  /** In its turn, if it has not ended until that comes. */
  private void inTurn(RunningSandbox sandbox, Runnable end) {
    SandboxId id = sandbox.id();
    Runnable work =
        () -> {
          if (stop.getCount() > 0 && life.find(id) == sandbox) {
            seeTo(id, end);
          }
        };
    ends.put(id, Thread.ofVirtual().name(id + "-end").start(() -> inPlace(id, work)));
  }

  private void inPlace(SandboxId id, Runnable work) {
    places.acquireUninterruptibly();
    var placed = new AtomicBoolean(true);
    Runnable leave =
        () -> {
          if (placed.compareAndSet(true, false)) {
            places.release();
          }
        };
    // One that takes its time waits more than it works: it keeps no other from its end meanwhile.
    try (var _ = Alarm.after(PLACE_LIMIT, leave);
        Turn _ = life.turns().takeAtLast(id)) {
      work.run();
    } finally {
      leave.run();
    }
  }

  private static void seeTo(SandboxId id, Runnable work) {
    try {
      work.run();
    } catch (SandboxException e) {
      // Deleted at the same moment, or its engine fails: the others have a right to be seen to.
      LOG.warn("sandbox {}: {}", id, e.message());
    } catch (RuntimeException e) {
      LOG.error("sandbox {} could not be seen to", id, e);
    }
  }

  private void look(RunningSandbox sandbox, Round round) {
    if (ends.containsKey(sandbox.id())) {
      if (!sandbox.paused()) {
        sandbox.sample(); // by the time that its turn comes it may work
      }
      return;
    }
    if (isDead(sandbox, round.silent)) {
      inTurn(sandbox, () -> life.died(sandbox));
      return;
    }
    if (sandbox.row().frozen() != null && !sandbox.paused()) {
      inTurn(sandbox, () -> life.freezing().hold(sandbox));
      return;
    }
    long uses = sandbox.uses();
    Sandbox row = sandbox.row();
    boolean works = round.evicts && !sandbox.paused() && sandbox.sample();
    switch (round.policy.of(row, sandbox.usedAt(), sandbox.active(), round.now)) {
      case IdlePolicy.Verdict.Keep _ -> {}
      case IdlePolicy.Verdict.Warn(Instant end, IdlePolicy.Verdict.End then) -> {
        if (sandbox.announce(end)) {
          life.tell(row, end, then);
        }
      }
      case IdlePolicy.Verdict.End end -> {
        if (!isIdle(end) || sandbox.paused() || !(round.evicts ? works : sandbox.sample())) {
          inTurn(sandbox, () -> endIfDue(sandbox, round.policy, uses));
        }
      }
    }
  }

  /**
   * @param silent told the engine that takes its time to fail
   */
  private boolean isDead(RunningSandbox sandbox, Set<String> silent) {
    long begin = System.nanoTime();
    try {
      boolean dead = sandbox.machine().death().isPresent();
      unanswered.remove(sandbox.id());
      return dead;
    } catch (SandboxException e) {
      if (System.nanoTime() - begin > SILENCE.toNanos()) {
        silent.add(sandbox.row().engine());
        unanswered.add(sandbox.id());
      }
      throw e;
    }
  }

  private static boolean isIdle(IdlePolicy.Verdict.End end) {
    return !end.why().cause().equals(Failures.MAX_LIFE);
  }

  /** Whoever had its turn before may have put its end off. */
  private void endIfDue(RunningSandbox sandbox, IdlePolicy policy, long uses) {
    if (policy.of(sandbox.row(), sandbox.usedAt(), sandbox.active(), life.now())
        instanceof IdlePolicy.Verdict.End end) {
      end(sandbox, uses, end.how(), end.why(), isIdle(end));
    }
  }

  private void end(RunningSandbox sandbox, long uses, OnIdle how, Failure why, boolean idle) {
    switch (how) {
      case PAUSE -> {
        try {
          if (idle) {
            life.pauseUnused(sandbox, uses, why.cause());
          } else {
            life.pause(sandbox.id(), why.cause());
          }
        } catch (SandboxException e) {
          if (e.code() != ErrorCode.NOT_SUPPORTED) {
            throw e;
          }
          if (idle) {
            life.stopUnused(sandbox, uses, why);
          } else {
            life.stop(sandbox.id(), why);
          }
        }
      }
      case STOP -> {
        if (idle) {
          life.stopUnused(sandbox, uses, why);
        } else {
          life.stop(sandbox.id(), why);
        }
      }
      case DESTROY -> {
        if (idle) {
          Reserve.forRemoval(() -> life.removeUnused(sandbox, uses, why.cause()));
        } else {
          Reserve.forRemoval(() -> life.remove(sandbox.row(), why.cause()));
        }
      }
    }
  }

  private void sweep(Instant now) {
    try {
      sweepNow(now);
    } catch (RuntimeException e) {
      // The top of a thread; the next one tries again.
      LOG.error("a sweep of the sandboxes failed", e);
    }
  }

  private void sweepNow(Instant now) {
    life.endRemains();
    Duration retention = settings.get().stoppedRetention();
    announceRemovals(now, retention);
    store
        .endedBefore(now.minus(retention))
        .forEach(row -> seeTo(row.id(), () -> Reserve.forRemoval(() -> life.removeEnded(row))));
    store
        .destroyed()
        .forEach(
            row -> seeTo(row.id(), () -> Reserve.forRemoval(() -> life.remove(row, "retention"))));
    Reserve.forRemoval(sandboxes::sweepVolumes);
    Reserve.forRemoval(() -> store.forgetDeleted(now.minus(DELETED_RETENTION)));
  }

  /** Tells of those that are removed soon; of each once. */
  private void announceRemovals(Instant now, Duration retention) {
    Duration half = retention.dividedBy(2);
    Instant due = now.minus(retention);
    Instant soon = due.plus(REMOVAL_WARNING.compareTo(half) < 0 ? REMOVAL_WARNING : half);
    for (Sandbox row : store.endedBetween(announced.isAfter(due) ? announced : due, soon)) {
      var then = new IdlePolicy.Verdict.End(OnIdle.DESTROY, Failures.retention(retention));
      row.removalAt(retention).ifPresent(end -> life.tell(row, end, then));
    }
    announced = announced.isAfter(soon) ? announced : soon;
  }

  private void saveCounters() {
    for (RunningSandbox sandbox : life.running()) {
      if (sandbox.takeUnsaved()) {
        store.note(sandbox.id(), sandbox.lastActivity(), sandbox.counters());
      }
    }
  }

  /**
   * One look at all of them.
   *
   * @param evicts whether one that works by itself is to be known before it is due to end: others
   *     may need its place
   * @param silent engines that took their time to fail in it
   */
  private record Round(IdlePolicy policy, Instant now, boolean evicts, Set<String> silent) {}
}
