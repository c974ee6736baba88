package dev.carrel.control.sandbox;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The boxes of one image that wait for an owner. Taking one is a pop, however many there are. The
 * target doubles when somebody finds the pool empty and halves in quiet times.
 *
 * <p>A pool that nobody asked for comes and goes by itself: it fills from the second create of a
 * series on, with the interpreter that sandboxes of that series begin with, and is empty soon after
 * the last. It is only kept where a machine starts quickly: elsewhere one that nobody takes would
 * cost too much.
 */
final class WarmPool {
  private static final Duration QUIET = Duration.ofSeconds(30);
  private static final Duration CALM = Duration.ofMillis(25);
  // Who makes a sandbox this long after another makes a series of them.
  private static final Duration SERIES = Duration.ofSeconds(2);
  private static final Duration QUICK = Duration.ofMillis(100);
  // An engine that cannot costs one box in that time.
  private static final Duration RIGID = Duration.ofMinutes(10);
  // A pool with less than this part of its target is filled whatever goes on, unless it was full
  // until a crowd came, which has the processors to itself for so long. So many who follow each
  // other so closely are a crowd.
  private static final int LOW = 4;
  private static final int CROWD = 8;
  private static final Duration CLOSELY = Duration.ofMillis(5);
  private static final Duration LEEWAY = Duration.ofMillis(500);

  private final PoolSettings.Pool settings;
  private final String engine;
  private final @Nullable Habit habit;
  private final ConcurrentLinkedDeque<Box> ready = new ConcurrentLinkedDeque<>();
  private final AtomicInteger idle = new AtomicInteger();
  private final AtomicInteger target;
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final AtomicLong lastClaim;
  private final LongSupplier ticks;
  private final AtomicInteger closely = new AtomicInteger();
  private volatile long lastUse;
  private volatile boolean full;
  private volatile long leewayUntil;
  private volatile boolean quick;
  private volatile long rigidUntil;
  private long lastTurn;
  private volatile long restsUntil;

  WarmPool(PoolSettings.Pool settings, String engine) {
    this(settings, engine, System::nanoTime);
  }

  /**
   * As {@link #WarmPool(PoolSettings.Pool, String)}.
   *
   * @param ticks nanoseconds, from any point on
   */
  WarmPool(PoolSettings.Pool settings, String engine, LongSupplier ticks) {
    this(settings, engine, null, 0, ticks);
  }

  /** One that nobody asked for. */
  static WarmPool byItself(String engine, String image, int max) {
    var settings = new PoolSettings.Pool(image, engine, 0, max, Set.of());
    return new WarmPool(settings, engine, new Habit(), SERIES.toNanos(), System::nanoTime);
  }

  private WarmPool(
      PoolSettings.Pool settings,
      String engine,
      @Nullable Habit habit,
      long sinceLastClaim,
      LongSupplier ticks) {
    this.settings = settings;
    this.engine = engine;
    this.habit = habit;
    this.target = new AtomicInteger(settings.min());
    this.ticks = ticks;
    long now = ticks.getAsLong();
    this.lastClaim = new AtomicLong(now - sinceLastClaim);
    this.lastUse = now;
    this.leewayUntil = now;
    this.rigidUntil = now;
    this.restsUntil = now;
  }

  PoolSettings.Pool settings() {
    return settings;
  }

  /** Whether nobody asked for it. */
  boolean isByItself() {
    return habit != null;
  }

  /** What is started in each box. */
  Set<Interpreter> interpreters() {
    if (habit != null) {
      return habit.interpreters();
    }
    return settings.languages().stream()
        .map(language -> new Interpreter(language, null))
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Takes a box out, the freshest first: the oldest are then the ones that a quiet time ends. */
  Optional<Box> claim() {
    long now = ticks.getAsLong();
    long before = lastClaim.getAndSet(now);
    closely.updateAndGet(many -> now - before < CLOSELY.toNanos() ? many + 1 : 0);
    Box box = ready.pollFirst();
    if (box == null) {
      misses.increment();
      if (habit == null || now - before < SERIES.toNanos()) {
        grow();
      }
      return Optional.empty();
    }
    noteLow(idle.decrementAndGet(), now);
    hits.increment();
    if (habit != null) {
      habit.taken();
    }
    return Optional.of(box);
  }

  /** Once for each time that it was full: a stream that does not end must not keep it low. */
  private void noteLow(int left, long now) {
    if (full && left * LOW < target.get()) {
      full = false;
      leewayUntil = now + LEEWAY.toNanos();
    }
  }

  private void grow() {
    // One by itself begins with two: then the next can wait until whoever took the first has done
    // what that is for.
    int least = habit == null ? 1 : 2;
    target.updateAndGet(now -> Math.min(settings.max(), Math.max(least, now * 2)));
  }

  /** Its engine could not change the limits of a box; it may have been busy. */
  void setRigid() {
    rigidUntil = ticks.getAsLong() + RIGID.toNanos();
  }

  boolean isRigid() {
    return rigidUntil - ticks.getAsLong() > 0;
  }

  /** What a sandbox of this image began with. */
  void begunWith(Interpreter interpreter) {
    lastUse = ticks.getAsLong();
    if (habit != null) {
      habit.begunWith(interpreter);
    }
  }

  /** How long it took to start one of this image for somebody who waited. */
  void startTook(Duration time) {
    quick = time.compareTo(QUICK) < 0;
  }

  void add(Box box) {
    if (idle.incrementAndGet() >= target.get()) {
      full = true;
    }
    ready.addFirst(box);
  }

  /**
   * Whether a new box can wait: somebody has just taken one and is about to use it, and there are
   * still enough, or were until a crowd came.
   */
  boolean canWait() {
    if (idle.get() * LOW >= target.get()) {
      return sinceLastClaim().compareTo(CALM) < 0;
    }
    long now = ticks.getAsLong();
    return closely.get() >= CROWD
        && now - leewayUntil < 0
        && Math.min(now - lastClaim.get(), now - lastUse) < CALM.toNanos();
  }

  /** A box is made for it; for the one thread that makes them. */
  void turn(long number) {
    lastTurn = number;
  }

  long lastTurn() {
    return lastTurn;
  }

  /** None is made for a while, so that the other pools have their turn. */
  void rest(Duration time) {
    restsUntil = ticks.getAsLong() + time.toNanos();
  }

  boolean rests() {
    return restsUntil - ticks.getAsLong() > 0;
  }

  /** How many are to be made now. */
  int missing() {
    return habit == null || quick ? Math.max(0, target.get() - idle.get()) : 0;
  }

  /** When a quiet time is over for it, from now; empty: nothing changes by that. */
  Optional<Duration> ebbsIn() {
    return habit != null && target.get() > 0
        ? Optional.of(SERIES.minus(sinceLastClaim()))
        : Optional.empty();
  }

  /** Whether it can be forgotten: by itself, empty, and not needed for long. */
  boolean isForgettable() {
    return habit != null && idle.get() == 0 && sinceLastClaim().compareTo(QUIET) > 0;
  }

  /** Takes out what is too old, beyond the target, or no longer fit. */
  List<RunningSandbox> retire(Duration maxAge, Predicate<Box> fit) {
    ebb();
    long now = ticks.getAsLong();
    var out = new ArrayList<RunningSandbox>();
    for (var oldest = ready.descendingIterator(); oldest.hasNext(); ) {
      Box box = oldest.next();
      boolean keep =
          idle.get() <= target.get() && now - box.madeAt() < maxAge.toNanos() && fit.test(box);
      // Somebody may have claimed it meanwhile: then it is not ours to end.
      if (!keep && ready.remove(box)) {
        idle.decrementAndGet();
        out.add(box.sandbox());
      }
    }
    return out;
  }

  private void ebb() {
    if (habit != null && sinceLastClaim().compareTo(SERIES) >= 0) {
      target.set(0);
    } else if (habit == null && sinceLastClaim().compareTo(QUIET) > 0) {
      lastClaim.set(ticks.getAsLong());
      target.updateAndGet(size -> Math.max(settings.min(), size / 2));
    }
  }

  private Duration sinceLastClaim() {
    return Duration.ofNanos(ticks.getAsLong() - lastClaim.get());
  }

  List<RunningSandbox> drain() {
    var out = new ArrayList<RunningSandbox>();
    for (Box box = ready.pollFirst(); box != null; box = ready.pollFirst()) {
      idle.decrementAndGet();
      out.add(box.sandbox());
    }
    return out;
  }

  PoolStatus status() {
    return new PoolStatus(
        settings.image(),
        engine,
        settings.min(),
        settings.max(),
        interpreters().stream().map(i -> i.language().wireName()).collect(Collectors.toSet()),
        idle.get(),
        target.get(),
        hits.sum(),
        misses.sum());
  }

  /**
   * A box, whether it waits or was just claimed.
   *
   * @param madeAt by {@link System#nanoTime}
   * @param era of which defaults it is made
   */
  record Box(RunningSandbox sandbox, long madeAt, int era) {}
}
