package dev.carrel.control.admission;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A number of places and a bounded line of those who wait for one. Tenants take turns; within a
 * tenant the first to come is the first to go. Nobody passes a line: who comes while others wait
 * waits too. When the line is full, the tenant that waits with most gives way to one with fewer. As
 * long as nobody waits, to come and to go is one compare-and-set each.
 */
public final class Line {
  private static final Duration TELL_EVERY = Duration.ofSeconds(1);

  private final Kind kind;
  private final Telemetry telemetry;
  private final AtomicInteger running = new AtomicInteger();
  private final ReentrantLock lock = new ReentrantLock();
  // Tenants with waiters, whose turn it is first; guarded by the lock, as all below.
  private final Deque<TenantLine> turns = new ArrayDeque<>();
  private final Map<String, TenantLine> tenants = new HashMap<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final Map<SandboxId, Set<Place>> places = new ConcurrentHashMap<>();
  private volatile int limit;
  private volatile int maxWaiting;

  Line(Kind kind, int limit, int maxWaiting, Telemetry telemetry) {
    this.kind = kind;
    this.limit = limit;
    this.maxWaiting = maxWaiting;
    this.telemetry = telemetry;
  }

  /**
   * Takes a place, waiting for it when there is none. An interrupt leaves the line at once.
   *
   * @param sandbox what it is for, if that exists already
   * @param patience how long to wait at most
   * @throws SandboxException {@code LIMIT_REACHED} when the line is full or the time is over
   */
  public Place enter(String tenant, @Nullable SandboxId sandbox, Duration patience, Waiting waiting)
      throws InterruptedException {
    if (this.waiting.get() == 0 && take()) {
      return placed(sandbox, Duration.ZERO);
    }
    return await(new Waiter(tenant, sandbox, Instant.now()), patience, waiting);
  }

  /** Changes the bounds; those who fit now go on at once. */
  void resize(int newLimit, int newMaxWaiting) {
    lock.lock();
    try {
      limit = newLimit;
      maxWaiting = newMaxWaiting;
      admit();
    } finally {
      lock.unlock();
    }
  }

  /** How it stands, and where the requests of this tenant are in it. */
  Snapshot snapshot(String tenant) {
    lock.lock();
    try {
      var own = new ArrayList<Snapshot.Request>();
      TenantLine mine = tenants.get(tenant);
      if (mine != null) {
        for (Waiter waiter : mine.waiters) {
          own.add(new Snapshot.Request(kind, position(waiter), waiter.since, waiter.sandbox));
        }
      }
      return new Snapshot(kind, running.get(), waiting.get(), limit, maxWaiting, own);
    } finally {
      lock.unlock();
    }
  }

  Kind kind() {
    return kind;
  }

  int running() {
    return running.get();
  }

  int waiting() {
    return waiting.get();
  }

  int limit() {
    return limit;
  }

  /** A place is free again. */
  void free() {
    running.decrementAndGet();
    // Read after the decrement: who joins later finds the free place by itself.
    if (waiting.get() > 0) {
      lock.lock();
      try {
        admit();
      } finally {
        lock.unlock();
      }
    }
  }

  /** What runs in this sandbox stands still: its places are for others meanwhile. */
  void lend(SandboxId sandbox) {
    places.getOrDefault(sandbox, Set.of()).forEach(Place::lend);
  }

  /** It goes on, beyond the limit if need be: what has begun does not stand in line again. */
  void takeBack(SandboxId sandbox) {
    places.getOrDefault(sandbox, Set.of()).forEach(Place::takeBack);
  }

  /** One that was lent is taken, whoever has come meanwhile. */
  void takeAnyway() {
    running.incrementAndGet();
  }

  void forget(Place place) {
    SandboxId sandbox = place.sandbox();
    if (sandbox != null) {
      places.computeIfPresent(
          sandbox,
          (_, all) -> {
            all.remove(place);
            return all.isEmpty() ? null : all;
          });
    }
  }

  private Place placed(@Nullable SandboxId sandbox, Duration waited) {
    var place = new Place(this, sandbox, waited);
    if (sandbox != null) {
      places.compute(
          sandbox,
          (_, all) -> {
            Set<Place> own = all == null ? ConcurrentHashMap.newKeySet() : all;
            own.add(place);
            return own;
          });
    }
    return place;
  }

  private Place await(Waiter waiter, Duration patience, Waiting told) throws InterruptedException {
    long begin = System.nanoTime();
    join(waiter);
    boolean admitted = false;
    try {
      int last = 0;
      while (waiter.turn.getCount() > 0) {
        int position = position(waiter, last);
        if (position != last) {
          told.at(position);
          last = position;
        }
        long left = patience.toNanos() - (System.nanoTime() - begin);
        if (left <= 0) {
          throw tooLong(patience);
        }
        waiter.turn.await(Math.min(left, TELL_EVERY.toNanos()), TimeUnit.NANOSECONDS);
      }
      if (waiter.sentAway) {
        throw full();
      }
      admitted = true;
      Duration waited = Duration.ofNanos(System.nanoTime() - begin);
      telemetry.time(kind.waitMeter(), waited);
      return placed(waiter.sandbox, waited);
    } finally {
      if (!admitted) {
        leave(waiter);
      }
    }
  }

  private void join(Waiter waiter) {
    lock.lock();
    try {
      if (waiting.get() >= maxWaiting && !makeRoom(waiter.tenant)) {
        throw full();
      }
      TenantLine line = tenants.get(waiter.tenant);
      if (line == null) {
        line = new TenantLine(waiter.tenant);
        tenants.put(waiter.tenant, line);
        turns.add(line);
      }
      line.waiters.add(waiter);
      waiting.incrementAndGet();
      admit();
    } finally {
      lock.unlock();
    }
    if (waiter.turn.getCount() > 0) {
      telemetry.count("queue_backpressure");
    }
  }

  /**
   * Sends away the last of the tenant that waits with most, when that is more than this one would
   * have: nobody fills the line for all.
   */
  private boolean makeRoom(String tenant) {
    TenantLine own = tenants.get(tenant);
    int wanted = own == null ? 1 : own.waiters.size() + 1;
    TenantLine longest =
        turns.stream().max(Comparator.comparingInt(line -> line.waiters.size())).orElse(null);
    if (longest == null || longest.waiters.size() <= wanted) {
      return false;
    }
    Waiter last = longest.waiters.removeLast();
    waiting.decrementAndGet();
    last.sentAway = true;
    last.turn.countDown();
    return true;
  }

  private SandboxException full() {
    telemetry.count(kind.refusedMeter());
    return new SandboxException(
            ErrorCode.LIMIT_REACHED,
            "%d %s run and %d wait, the most that may"
                .formatted(running.get(), kind.plural(), waiting.get()))
        .withHint("try again in a moment, or raise queue.max-waiting");
  }

  private void leave(Waiter waiter) {
    lock.lock();
    try {
      if (waiter.sentAway) {
        return;
      }
      if (waiter.turn.getCount() > 0) {
        TenantLine line = Objects.requireNonNull(tenants.get(waiter.tenant));
        line.waiters.remove(waiter);
        waiting.decrementAndGet();
        if (line.waiters.isEmpty()) {
          tenants.remove(line.tenant);
          turns.remove(line);
        }
        return;
      }
    } finally {
      lock.unlock();
    }
    // Its turn came at the same moment.
    free();
  }

  private void admit() {
    while (waiting.get() > 0 && take()) {
      TenantLine line = turns.remove();
      Waiter next = line.waiters.remove();
      waiting.decrementAndGet();
      if (line.waiters.isEmpty()) {
        tenants.remove(line.tenant);
      } else {
        turns.add(line);
      }
      next.turn.countDown();
    }
  }

  private boolean take() {
    for (int now = running.get(); now < limit; now = running.get()) {
      if (running.compareAndSet(now, now + 1)) {
        return true;
      }
    }
    return false;
  }

  private int position(Waiter waiter, int otherwise) {
    lock.lock();
    try {
      return waiter.turn.getCount() > 0 ? position(waiter) : otherwise;
    } finally {
      lock.unlock();
    }
  }

  /** How many go before it when nobody else comes, and itself. */
  private int position(Waiter waiter) {
    TenantLine own = Objects.requireNonNull(tenants.get(waiter.tenant));
    int before = 0;
    for (Waiter other : own.waiters) {
      if (other == waiter) {
        break;
      }
      before++;
    }
    int position = before + 1;
    boolean earlier = true;
    for (TenantLine line : turns) {
      if (line == own) {
        earlier = false;
      } else {
        position += Math.min(line.waiters.size(), earlier ? before + 1 : before);
      }
    }
    return position;
  }

  private SandboxException tooLong(Duration patience) {
    telemetry.count(kind.refusedMeter());
    return new SandboxException(
            ErrorCode.LIMIT_REACHED,
            "it waited %d ms for its turn, all the time it had: %d %s run and %d wait"
                .formatted(patience.toMillis(), running.get(), kind.plural(), waiting.get()))
        .withHint("try again later, give it a longer timeout, or raise " + kind.setting());
  }

  /** Those of one tenant. */
  private static final class TenantLine {
    final String tenant;
    final Deque<Waiter> waiters = new ArrayDeque<>();

    TenantLine(String tenant) {
      this.tenant = tenant;
    }
  }

  private static final class Waiter {
    final String tenant;
    final @Nullable SandboxId sandbox;
    final Instant since;
    // It goes on: because it is its turn, or because it was sent away.
    final CountDownLatch turn = new CountDownLatch(1);
    // Set before the latch opens.
    volatile boolean sentAway;

    Waiter(String tenant, @Nullable SandboxId sandbox, Instant since) {
      this.tenant = tenant;
      this.sandbox = sandbox;
      this.since = since;
    }
  }

  /** What is waited for. */
  public enum Kind {
    CREATE("create", "creates", "queue.max-creates"),
    EXECUTION("execution", "executions", "queue.max-executions");

    private final String wireName;
    private final String plural;
    private final String setting;

    Kind(String wireName, String plural, String setting) {
      this.wireName = wireName;
      this.plural = plural;
      this.setting = setting;
    }

    public String wireName() {
      return wireName;
    }

    String plural() {
      return plural;
    }

    String setting() {
      return setting;
    }

    String waitMeter() {
      return "queue_waited_" + plural;
    }

    String refusedMeter() {
      return "queue_refused_" + plural;
    }
  }

  /**
   * How a line stands.
   *
   * @param own requests of the tenant that asks, in the order they came
   */
  public record Snapshot(
      Kind kind, int running, int waiting, int limit, int maxWaiting, List<Request> own) {
    public Snapshot {
      own = List.copyOf(own);
    }

    /**
     * A request in line.
     *
     * @param position 1 is the next
     */
    public record Request(Kind kind, int position, Instant since, @Nullable SandboxId sandbox) {}
  }
}
