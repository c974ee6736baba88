package dev.carrel.control.sandbox;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sandboxes made ahead of need. A box has no owner, no row and nothing of anybody; what it is to be
 * (tenant, environment, limits, metadata) is bound when it is claimed, and once somebody had it, it
 * never comes back. One thread makes boxes, one at a time, so that live work keeps the machine. A
 * box that outlives its server belongs to nobody, and the next start ends it.
 *
 * <p>There are the pools that the settings name, and those that come by themselves where somebody
 * makes one sandbox after the other.
 */
public final class WarmPools implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WarmPools.class);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);
  private static final Duration BREATH = Duration.ofMillis(5);
  // Of those that come by themselves; whoever makes sandboxes of more images starts them cold.
  private static final int MOST_POOLS = 32;

  private final PoolSettings settings;
  private final Maker maker;
  private final Telemetry telemetry;
  private final Map<Key, WarmPool> pools = new ConcurrentHashMap<>();
  private final List<WarmUp> warmUps = new CopyOnWriteArrayList<>();
  private final Set<VolumeId> volumes = ConcurrentHashMap.newKeySet();
  private final Semaphore wanted = new Semaphore(0);
  private final Thread keeper = Thread.ofVirtual().name("warm-pools").unstarted(this::keep);
  private volatile boolean closed;
  private volatile boolean enabled = true;
  private final AtomicInteger era = new AtomicInteger();
  private long turns;

  WarmPools(PoolSettings settings, Maker maker, Telemetry telemetry) {
    this.settings = settings;
    this.maker = maker;
    this.telemetry = telemetry;
    for (PoolSettings.Pool pool : settings.pools()) {
      try {
        String engine = maker.engine(pool);
        pools.put(new Key(engine, pool.image()), new WarmPool(pool, engine));
      } catch (SandboxException e) {
        LOG.warn("there is no pool of image {}: {}", pool.image(), e.message());
      }
    }
    // Once for each image: whoever reads metrics takes none of them when one comes twice.
    for (String image : images()) {
      telemetry.gauge("pool_idle", "image", image, () -> sum(image, PoolStatus::idle));
      telemetry.gauge("pool_target", "image", image, () -> sum(image, PoolStatus::target));
    }
    telemetry.gauge("pool_ahead", "state", "idle", this::ahead);
  }

  /** To be called before {@link #begin}. */
  public void warmUp(WarmUp warmUp) {
    warmUps.add(warmUp);
  }

  /** Starts filling. */
  public void begin() {
    if (!pools.isEmpty() || settings.ahead() > 0) {
      keeper.start();
    }
  }

  public List<PoolStatus> status() {
    return pools.values().stream()
        .map(WarmPool::status)
        .sorted(Comparator.comparing(PoolStatus::image).thenComparing(PoolStatus::engine))
        .toList();
  }

  /** The images that boxes are made of because somebody asked for it. */
  public Set<String> images() {
    return pools.values().stream()
        .filter(pool -> !pool.isByItself())
        .map(pool -> pool.settings().image())
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Tells what a sandbox was first used for. */
  public void begunWith(RunningSandbox sandbox, Interpreter interpreter) {
    WarmPool pool = pools.get(Key.of(sandbox.row()));
    if (pool != null) {
      pool.begunWith(interpreter);
    }
  }

  public boolean enabled() {
    return enabled;
  }

  /** Whether boxes are made when there is a need for them, be there a pool just now or not. */
  public boolean makesBoxes() {
    return enabled && (settings.ahead() > 0 || !images().isEmpty());
  }

  /** Whether boxes are made and given away from now on; when not, those that wait are ended. */
  public void enable(boolean newEnabled) {
    enabled = newEnabled;
    if (!newEnabled) {
      renew();
    }
    wanted.release();
  }

  /** Ends the boxes that wait; what comes after them is made with the defaults of its time. */
  public void renew() {
    era.incrementAndGet();
    pools.values().forEach(pool -> pool.drain().forEach(this::discardLater));
    wanted.release();
  }

  /** Ends the boxes that nobody has claimed. */
  @Override
  public void close() {
    closed = true;
    wanted.release();
    boolean interrupted = false;
    while (keeper.isAlive()) {
      try {
        keeper.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    pools.values().forEach(pool -> pool.drain().forEach(this::discard));
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * A box, out of its pool for good; empty when none is ready. Never waits.
   *
   * @param usualLimits whether it may have those that it was made with
   */
  Optional<WarmPool.Box> claim(String engine, String image, boolean usualLimits) {
    if (closed || !enabled) {
      return Optional.empty();
    }
    var key = new Key(engine, image);
    WarmPool pool = pools.get(key);
    if (pool == null) {
      if (settings.ahead() == 0 || pools.size() - settings.pools().size() >= MOST_POOLS) {
        return Optional.empty();
      }
      pool = pools.computeIfAbsent(key, _ -> WarmPool.byItself(engine, image, settings.ahead()));
    }
    if (!usualLimits && pool.isRigid()) {
      return Optional.empty();
    }
    Optional<WarmPool.Box> box = pool.claim();
    if (box.isPresent() && box.get().era() != era.get()) {
      // It came into the pool while the others were ended.
      discardLater(box.get().sandbox());
      box = Optional.empty();
    }
    telemetry.count(box.isPresent() ? "pool_hits" : "pool_misses");
    if (box.isEmpty() && !pool.isByItself()) {
      // One by itself has time until the cold start is over.
      wanted.release();
    }
    return box;
  }

  /** Whether a claimed box answers, which is found out while its owner waits for other things. */
  static CompletableFuture<Boolean> ask(RunningSandbox box) {
    var answer = new CompletableFuture<Boolean>();
    Thread.ofVirtual()
        .name(box.id() + "-ask")
        .start(
            () -> {
              boolean answers = false;
              try {
                answers = answers(box);
              } finally {
                answer.complete(answers);
              }
            });
    return answer;
  }

  /** For a box that was claimed and never given to anybody. */
  void giveBack(WarmPool.Box box) {
    Key key = Key.of(box.sandbox().row());
    WarmPool pool = pools.get(key);
    if (pool == null || closed || !enabled || box.era() != era.get()) {
      discardLater(box.sandbox());
      return;
    }
    pool.add(box);
    if (closed || pools.get(key) != pool) {
      // Closed or forgotten at the same moment: nobody else would look into it again.
      pool.drain().forEach(this::discardLater);
    }
  }

  /** It has an owner now, and so has its volume. */
  void settled(RunningSandbox box) {
    forget(box);
    wanted.release();
  }

  /** For a box that could not have the limits that its owner wanted, and was of no use. */
  void wasRigid(RunningSandbox box) {
    WarmPool pool = pools.get(Key.of(box.row()));
    if (pool != null) {
      pool.setRigid();
    }
  }

  /** For a sandbox that no box was there for. */
  void startTook(String engine, String image, Duration time) {
    WarmPool pool = pools.get(new Key(engine, image));
    if (pool != null) {
      pool.startTook(time);
      wanted.release();
    }
  }

  /** Volumes without a row that are nevertheless somebody's. */
  Set<VolumeId> volumes() {
    return Set.copyOf(volumes);
  }

  private void keep() {
    try {
      long look = nextLook();
      while (!closed) {
        try {
          // By the clock: who takes boxes wakes us more often than that.
          if (System.nanoTime() - look >= 0 || untilEbb() <= 0) {
            look = nextLook();
            retire();
          }
          fillOrWait(look);
        } catch (RuntimeException | Error e) {
          // The top of a loop: were it over, every sandbox would start cold until the next start.
          LOG.error("the warm pools could not be seen to and will be again", e);
          wanted.drainPermits();
          if (!closed) {
            wanted.tryAcquire(AFTER_FAILURE.toMillis(), TimeUnit.MILLISECONDS);
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private long nextLook() {
    return System.nanoTime() + settings.checkInterval().toNanos();
  }

  /** Makes the box that is wanted most, or waits until one is, or until it is time to look. */
  private void fillOrWait(long look) throws InterruptedException {
    Optional<WarmPool> hungry = enabled ? next(pools.values()) : Optional.empty();
    if (hungry.isPresent() && hungry.get().canWait()) {
      // Making one would take the processors away from whoever has just claimed the last.
      wanted.tryAcquire(BREATH.toMillis(), TimeUnit.MILLISECONDS);
    } else if (hungry.isPresent()) {
      boolean filled = false;
      try {
        filled = fill(hungry.get());
      } finally {
        if (!filled) {
          hungry.get().rest(AFTER_FAILURE);
        }
      }
    } else {
      boolean resting = enabled && pools.values().stream().anyMatch(p -> p.missing() > 0);
      long pause = resting ? AFTER_FAILURE.toNanos() : look - System.nanoTime();
      wanted.tryAcquire(Math.min(pause, untilEbb()), TimeUnit.NANOSECONDS);
      wanted.drainPermits();
    }
  }

  /** Which one gets a box now: those that cannot wait come first, and then by turns. */
  static Optional<WarmPool> next(Collection<WarmPool> pools) {
    return pools.stream()
        .filter(pool -> pool.missing() > 0 && !pool.rests())
        .min(Comparator.comparing(WarmPool::canWait).thenComparingLong(WarmPool::lastTurn));
  }

  /** Nanoseconds until a pool that came by itself is no longer needed. */
  private long untilEbb() {
    return pools.values().stream()
        .flatMap(pool -> pool.ebbsIn().stream())
        .mapToLong(Duration::toNanos)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  /** False: it failed, and would again. */
  private boolean fill(WarmPool pool) throws InterruptedException {
    turns++;
    pool.turn(turns);
    int begun = era.get();
    var told = new ArrayList<VolumeId>();
    RunningSandbox box;
    boolean made = false;
    try {
      box =
          maker.make(
              pool.settings(),
              volume -> {
                told.add(volume);
                volumes.add(volume);
              });
      made = true;
    } catch (RuntimeException e) {
      // The next create says the same to somebody who can do something about it.
      LOG.warn(
          "a box of image {} could not be made ahead: {}", pool.settings().image(), e.toString());
      return false;
    } finally {
      if (!made) {
        told.forEach(volumes::remove);
      }
    }
    boolean warm = false;
    try {
      for (Interpreter interpreter : pool.interpreters()) {
        for (WarmUp warmUp : warmUps) {
          warmUp.warm(box, interpreter);
        }
      }
      warm = true;
    } catch (RuntimeException e) {
      LOG.warn("a box of image {} could not be warmed: {}", pool.settings().image(), e.toString());
      return false;
    } finally {
      if (!warm) {
        discard(box);
      }
    }
    if (begun != era.get() || !enabled) {
      // Made with defaults that have changed meanwhile.
      discard(box);
      return true;
    }
    pool.add(new WarmPool.Box(box, System.nanoTime(), begun));
    return true;
  }

  private void retire() {
    for (WarmPool pool : pools.values()) {
      pool.retire(settings.maxAge(), box -> box.era() == era.get() && answers(box.sandbox()))
          .forEach(this::discard);
    }
    pools.values().removeIf(WarmPool::isForgettable);
  }

  private long ahead() {
    return pools.values().stream()
        .filter(WarmPool::isByItself)
        .mapToLong(pool -> pool.status().idle())
        .sum();
  }

  private long sum(String image, ToLongFunction<PoolStatus> value) {
    return pools.values().stream()
        .filter(pool -> !pool.isByItself() && pool.settings().image().equals(image))
        .map(WarmPool::status)
        .mapToLong(value)
        .sum();
  }

  private static boolean answers(RunningSandbox box) {
    try {
      box.guest().ping();
      return true;
    } catch (RuntimeException e) {
      LOG.info("box {} does not answer and is replaced: {}", box.id(), e.toString());
      return false;
    }
  }

  /** Ends a box that nobody may have. */
  void discardLater(RunningSandbox box) {
    Thread.ofVirtual().name(box.id() + "-discard").start(() -> discard(box));
    wanted.release();
  }

  private void discard(RunningSandbox box) {
    try {
      maker.discard(box);
    } catch (RuntimeException e) {
      // It has no row: the next start finds that it belongs to nobody.
      LOG.warn("box {} could not be ended yet: {}", box.id(), e.toString());
    }
    forget(box);
  }

  private void forget(RunningSandbox box) {
    Sandbox.Volume volume = box.row().volume();
    if (volume != null) {
      volumes.remove(volume.id());
    }
  }

  /** Makes and unmakes boxes. */
  interface Maker {
    /** Where the boxes of a pool run. Throws when they cannot. */
    String engine(PoolSettings.Pool pool);

    /**
     * A machine with everything by default.
     *
     * @param volume told of its volume before that exists
     */
    RunningSandbox make(PoolSettings.Pool pool, Consumer<VolumeId> volume);

    void discard(RunningSandbox box);
  }

  private record Key(String engine, String image) {
    static Key of(Sandbox row) {
      return new Key(row.engine(), row.image());
    }
  }
}
