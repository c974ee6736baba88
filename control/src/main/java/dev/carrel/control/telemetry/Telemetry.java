package dev.carrel.control.telemetry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a server exposes as metrics: counts by name, times by name with their distribution, and
 * values that are read when somebody looks. Safe for many threads.
 */
public final class Telemetry {
  /** Upper bounds of the classes that times are sorted into; a last one has all that is longer. */
  public static final List<Duration> BOUNDS =
      List.of(
          Duration.ofNanos(100_000),
          Duration.ofNanos(250_000),
          Duration.ofNanos(500_000),
          Duration.ofMillis(1),
          Duration.ofNanos(2_500_000),
          Duration.ofMillis(5),
          Duration.ofMillis(10),
          Duration.ofMillis(25),
          Duration.ofMillis(50),
          Duration.ofMillis(100),
          Duration.ofMillis(250),
          Duration.ofMillis(500),
          Duration.ofSeconds(1),
          Duration.ofMillis(2500),
          Duration.ofSeconds(5),
          Duration.ofSeconds(10),
          Duration.ofSeconds(30),
          Duration.ofMinutes(1),
          Duration.ofMinutes(5));

  private static final long[] BOUND_NANOS = BOUNDS.stream().mapToLong(Duration::toNanos).toArray();

  private final Map<String, Meter> meters = new ConcurrentHashMap<>();
  private final List<Gauge> gauges = new CopyOnWriteArrayList<>();

  /** Counts one occurrence. */
  public void count(String name) {
    meter(name).count.increment();
  }

  /** Counts one occurrence and adds its time. */
  public void time(String name, Duration duration) {
    Meter meter = meter(name);
    long nanos = duration.toNanos();
    meter.count.increment();
    meter.nanos.add(nanos);
    meter.buckets()[bucket(nanos)].increment();
  }

  public void add(String name, long amount) {
    meter(name).count.add(amount);
  }

  /**
   * A value that is read whenever somebody looks; to be quick and never to throw.
   *
   * @param label tells values of the same name apart
   */
  public void gauge(String name, String label, String labelValue, LongSupplier value) {
    gauges.add(new Gauge(name, label, labelValue, value));
  }

  public Map<String, Value> snapshot() {
    var values = new TreeMap<String, Value>();
    meters.forEach((name, meter) -> values.put(name, meter.value()));
    return values;
  }

  public List<Gauge> gauges() {
    return List.copyOf(gauges);
  }

  private Meter meter(String name) {
    Meter known = meters.get(name);
    return known != null ? known : meters.computeIfAbsent(name, _ -> new Meter());
  }

  private static int bucket(long nanos) {
    int index = 0;
    while (index < BOUND_NANOS.length && nanos > BOUND_NANOS[index]) {
      index++;
    }
    return index;
  }

  /**
   * A meter's reading.
   *
   * @param nanos summed time; 0 for what is only counted
   * @param buckets how many fell into each class of {@link #BOUNDS} and the one above; empty for
   *     what is only counted
   */
  public record Value(long count, long nanos, List<Long> buckets) {
    public Value {
      buckets = List.copyOf(buckets);
    }
  }

  /** A value to be read. */
  public record Gauge(String name, String label, String labelValue, LongSupplier value) {}

  private static final class Meter {
    final LongAdder count = new LongAdder();
    final LongAdder nanos = new LongAdder();
    private final AtomicReference<LongAdder @Nullable []> buckets = new AtomicReference<>();

    LongAdder[] buckets() {
      LongAdder[] known = buckets.get();
      if (known != null) {
        return known;
      }
      var fresh = new LongAdder[BOUND_NANOS.length + 1];
      for (int i = 0; i < fresh.length; i++) {
        fresh[i] = new LongAdder();
      }
      LongAdder[] winner = buckets.compareAndExchange(null, fresh);
      return winner == null ? fresh : winner;
    }

    Value value() {
      var sums = new ArrayList<Long>();
      LongAdder[] all = buckets.get();
      if (all != null) {
        for (LongAdder one : all) {
          sums.add(one.sum());
        }
      }
      return new Value(count.sum(), nanos.sum(), sums);
    }
  }
}
