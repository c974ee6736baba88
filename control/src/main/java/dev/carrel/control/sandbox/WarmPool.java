package dev.carrel.control.sandbox;

import dev.carrel.spi.Language;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The boxes of one image that wait for an owner. Taking one is a pop, however many there are. The
 * target doubles when somebody finds the pool empty and halves in quiet times.
 */
final class WarmPool {
  private static final Duration QUIET = Duration.ofSeconds(30);
  private static final Duration CALM = Duration.ofMillis(25);
  // A pool with less than this part of its target is filled whatever goes on.
  private static final int LOW = 4;

  private final PoolSettings.Pool settings;
  private final String engine;
  private final ConcurrentLinkedDeque<Box> ready = new ConcurrentLinkedDeque<>();
  private final AtomicInteger idle = new AtomicInteger();
  private final AtomicInteger target;
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private volatile long lastClaim = System.nanoTime();
  private volatile long restsUntil = System.nanoTime();

  WarmPool(PoolSettings.Pool settings, String engine) {
    this.settings = settings;
    this.engine = engine;
    this.target = new AtomicInteger(settings.min());
  }

  PoolSettings.Pool settings() {
    return settings;
  }

  /** Takes a box out, the freshest first: the oldest are then the ones that a quiet time ends. */
  Optional<Box> claim() {
    lastClaim = System.nanoTime();
    Box box = ready.pollFirst();
    if (box == null) {
      misses.increment();
      target.updateAndGet(now -> Math.min(settings.max(), Math.max(1, now * 2)));
      return Optional.empty();
    }
    idle.decrementAndGet();
    hits.increment();
    return Optional.of(box);
  }

  void add(Box box) {
    idle.incrementAndGet();
    ready.addFirst(box);
  }

  /**
   * Whether a new box can wait: somebody has just taken one and is about to use it, and there are
   * still enough.
   */
  boolean canWait() {
    return idle.get() * LOW >= target.get() && System.nanoTime() - lastClaim < CALM.toNanos();
  }

  /** None is made for a while, so that the other pools have their turn. */
  void rest(Duration time) {
    restsUntil = System.nanoTime() + time.toNanos();
  }

  boolean rests() {
    return restsUntil - System.nanoTime() > 0;
  }

  /** How many are to be made now. */
  int missing() {
    return Math.max(0, target.get() - idle.get());
  }

  /** Takes out what is too old, beyond the target, or no longer fit. */
  List<RunningSandbox> retire(Duration maxAge, Predicate<Box> fit) {
    long now = System.nanoTime();
    if (now - lastClaim > QUIET.toNanos()) {
      lastClaim = now;
      target.updateAndGet(size -> Math.max(settings.min(), size / 2));
    }
    var out = new ArrayList<RunningSandbox>();
    for (Box box : ready) {
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
        settings.languages().stream().map(Language::wireName).collect(Collectors.toSet()),
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
