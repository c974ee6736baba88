package dev.carrel.control.telemetry;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What a server exposes as metrics: counts and summed times by name. Safe for many threads. */
public final class Telemetry {
  private final Map<String, Meter> meters = new ConcurrentHashMap<>();

  /** Counts one occurrence. */
  public void count(String name) {
    meter(name).count.increment();
  }

  /** Counts one occurrence and adds its time. */
  public void time(String name, Duration duration) {
    Meter meter = meter(name);
    meter.count.increment();
    meter.nanos.add(duration.toNanos());
  }

  public void add(String name, long amount) {
    meter(name).count.add(amount);
  }

  public Map<String, Value> snapshot() {
    var values = new TreeMap<String, Value>();
    meters.forEach(
        (name, meter) -> values.put(name, new Value(meter.count.sum(), meter.nanos.sum())));
    return values;
  }

  private Meter meter(String name) {
    return meters.computeIfAbsent(name, _ -> new Meter());
  }

  /**
   * A meter's reading.
   *
   * @param nanos summed time; 0 for what is only counted
   */
  public record Value(long count, long nanos) {}

  private static final class Meter {
    final LongAdder count = new LongAdder();
    final LongAdder nanos = new LongAdder();
  }
}
