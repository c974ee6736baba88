package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Pools whose boxes cannot be made: when one is tried, and what comes of it. */
final class WarmPoolsTest {
  private static final List<String> IMAGES = List.of("first", "second", "third", "fourth");
  private static final Interpreter PYTHON = new Interpreter(Language.PYTHON, null);

  private final AtomicLong now = new AtomicLong();

  @Test
  void oneThatCannotBeFilledKeepsNoOtherFromBeingFilled() {
    var maker = new FailingMaker();
    try (var pools = pools(maker)) {
      pools.begin();

      eventually(() -> maker.tried.containsAll(IMAGES));
    }
  }

  @Test
  void volumeOfABoxThatCouldNotBeMadeIsNobodys() {
    var maker = new FailingMaker();
    try (var pools = pools(maker)) {
      pools.begin();

      eventually(() -> !maker.tried.isEmpty() && pools.volumes().isEmpty());
    }
    assertThat(maker.tried).isSubsetOf(IMAGES);
  }

  @Test
  void anErrorIsTheEndOfNoPool() {
    var maker = new FailingMaker();
    maker.error = true;
    try (var pools = pools(maker)) {
      pools.begin();

      eventually(
          () -> {
            pools.enable(true); // wakes the pools as a claim does
            return maker.tried.containsAll(IMAGES);
          });
      eventually(() -> pools.volumes().isEmpty());
    }
  }

  @Test
  void poolsTakeTurnsHoweverHungryOneIs() {
    var greedy = new WarmPool(new PoolSettings.Pool("greedy", null, 9, 9, Set.of()), "none");
    var modest = new WarmPool(new PoolSettings.Pool("modest", null, 1, 1, Set.of()), "none");
    List<WarmPool> both = List.of(greedy, modest);
    greedy.turn(1);

    assertThat(WarmPools.next(both)).contains(modest);
    modest.turn(2);
    assertThat(WarmPools.next(both)).contains(greedy);
    greedy.rest(Duration.ofMinutes(1));
    assertThat(WarmPools.next(both)).contains(modest);
  }

  @Test
  void aCrowdHasTheProcessorsToItselfForAWhile() {
    WarmPool pool = poolOf(20);

    claim(pool, 20, Duration.ofMillis(1));
    assertThat(pool.canWait()).as("until the crowd is gone").isTrue();
    pass(Duration.ofMillis(20));
    pool.begunWith(PYTHON);
    pass(Duration.ofMillis(20));
    assertThat(pool.canWait()).as("it uses what it took").isTrue();
    pass(Duration.ofMillis(20));
    assertThat(pool.canWait()).as("it has gone").isFalse();
  }

  @Test
  void aStreamThatDoesNotEndIsNoCrowdForLong() {
    WarmPool pool = poolOf(20);

    claim(pool, 20, Duration.ofMillis(1));
    claim(pool, 400, Duration.ofMillis(1));
    assertThat(pool.canWait()).isTrue();
    claim(pool, 200, Duration.ofMillis(1));
    assertThat(pool.canWait()).isFalse();
    add(pool, 10);
    claim(pool, 10, Duration.ofMillis(1));
    assertThat(pool.canWait()).as("it was not full meanwhile").isFalse();
    add(pool, 20);
    claim(pool, 20, Duration.ofMillis(1));
    assertThat(pool.canWait()).as("the next crowd").isTrue();
  }

  @Test
  void whoMakesOneAfterTheOtherFindsALowPoolFilled() {
    WarmPool pool = poolOf(20);

    claim(pool, 10, Duration.ofMillis(10));
    assertThat(pool.canWait()).as("enough are left").isTrue();
    claim(pool, 6, Duration.ofMillis(10));
    assertThat(pool.canWait()).isFalse();
  }

  @Test
  void aSeriesOfWhatStartsQuicklyHasItsNextBoxMadeByItself() {
    var maker = new FailingMaker();
    try (var pools = new WarmPools(PoolSettings.defaults(), maker, new Telemetry())) {
      pools.begin();

      createTwo(pools, "slow", Duration.ofSeconds(1));
      createOne(pools, "alone", Duration.ofMillis(1));
      createTwo(pools, "quick", Duration.ofMillis(1));

      eventually(() -> maker.tried.contains("quick"));
      assertThat(maker.tried).containsExactly("quick");
      assertThat(pools.images()).as("what may not be removed for them").isEmpty();
    }
  }

  @Test
  void nothingIsMadeByItselfWhereNobodyWantsThat() {
    var maker = new FailingMaker();
    var one = new PoolSettings.Pool("named", null, 0, 1, Set.of());
    PoolSettings settings = PoolSettings.defaults().withPools(List.of(one)).withAhead(0);
    try (var pools = new WarmPools(settings, maker, new Telemetry())) {
      pools.begin();

      createTwo(pools, "quick", Duration.ofMillis(1));
      createTwo(pools, "named", Duration.ofSeconds(1));

      eventually(() -> maker.tried.contains("named"));
      assertThat(maker.tried).containsExactly("named");
    }
  }

  @Test
  void aMetricComesOnceForAnImageThatHasPoolsOnTwoEngines() {
    var maker = new FailingMaker();
    var telemetry = new Telemetry();
    var one = new PoolSettings.Pool("host", "one", 1, 2, Set.of());
    var two = new PoolSettings.Pool("host", "two", 3, 4, Set.of());
    PoolSettings settings = PoolSettings.defaults().withPools(List.of(one, two));
    try (var pools = new WarmPools(settings, maker, telemetry)) {
      assertThat(pools.status()).hasSize(2);

      assertThat(telemetry.gauges())
          .filteredOn(gauge -> gauge.name().equals("pool_target"))
          .singleElement()
          .satisfies(gauge -> assertThat(gauge.value().getAsLong()).isEqualTo(4));
    }
  }

  private WarmPool poolOf(int boxes) {
    var settings = new PoolSettings.Pool("busy", null, boxes, boxes, Set.of());
    var pool = new WarmPool(settings, "none", now::get);
    add(pool, boxes);
    return pool;
  }

  /** Boxes that nobody looks into. */
  @SuppressWarnings("NullAway")
  private void add(WarmPool pool, int boxes) {
    for (int i = 0; i < boxes; i++) {
      pool.add(new WarmPool.Box(null, now.get(), 0));
    }
  }

  private void claim(WarmPool pool, int times, Duration apart) {
    for (int i = 0; i < times; i++) {
      pass(apart);
      pool.claim();
    }
  }

  private void pass(Duration time) {
    now.addAndGet(time.toNanos());
  }

  private static void createTwo(WarmPools pools, String image, Duration took) {
    createOne(pools, image, took);
    createOne(pools, image, took);
  }

  private static void createOne(WarmPools pools, String image, Duration took) {
    assertThat(pools.claim("none", image, true)).isEmpty();
    pools.startTook("none", image, took);
  }

  private static WarmPools pools(WarmPools.Maker maker) {
    List<PoolSettings.Pool> settings =
        IMAGES.stream().map(image -> new PoolSettings.Pool(image, null, 1, 1, Set.of())).toList();
    return new WarmPools(PoolSettings.defaults().withPools(settings), maker, new Telemetry());
  }

  private static final class FailingMaker implements WarmPools.Maker {
    final Set<String> tried = ConcurrentHashMap.newKeySet();
    volatile boolean error;

    @Override
    public String engine(PoolSettings.Pool pool) {
      return pool.engine() == null ? "none" : pool.engine();
    }

    @Override
    public RunningSandbox make(PoolSettings.Pool pool, Consumer<VolumeId> volume) {
      volume.accept(VolumeId.random());
      tried.add(pool.image());
      if (error) {
        throw new NoClassDefFoundError("what makes a box of " + pool.image());
      }
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "no box of " + pool.image());
    }

    @Override
    public void discard(RunningSandbox box) {
      throw new IllegalStateException("none was made");
    }
  }
}
