package dev.carrel.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;

/** Durations of one operation, sorted, in nanoseconds. */
final class Samples {
  private final long[] sorted;

  private Samples(long[] sorted) {
    this.sorted = sorted;
  }

  static Samples of(long[] nanos) {
    long[] copy = nanos.clone();
    Arrays.sort(copy);
    return new Samples(copy);
  }

  /**
   * Times {@code count} calls, after as many discarded as a tenth of that, each {@code gapMillis}
   * after the last.
   */
  static Samples time(int count, long gapMillis, Callable<?> operation) throws Exception {
    return time(count, gapMillis, () -> {}, operation);
  }

  /** As above, with something to be done before each call and not to be timed. */
  static Samples time(int count, long gapMillis, Preparation before, Callable<?> operation)
      throws Exception {
    for (int i = 0; i < Math.max(1, count / 10); i++) {
      before.run();
      operation.call();
    }
    long[] nanos = new long[count];
    for (int i = 0; i < count; i++) {
      before.run();
      if (gapMillis > 0) {
        Thread.sleep(gapMillis);
      }
      long start = System.nanoTime();
      operation.call();
      nanos[i] = System.nanoTime() - start;
    }
    return of(nanos);
  }

  /**
   * Times {@code count} calls for each name, in rounds of one for each, after {@code discarded}
   * rounds. No name always comes first or always follows the same other.
   *
   * @param after what is to be done with the result of each call and not to be timed
   */
  static <T> Map<String, Samples> inTurns(
      List<String> names, int discarded, int count, Turn<T> turn, Ending<T> after)
      throws Exception {
    var nanos = new LinkedHashMap<String, long[]>();
    names.forEach(name -> nanos.put(name, new long[count]));
    var order = new ArrayList<>(names);
    var random = new Random(count);
    for (int i = -discarded; i < count; i++) {
      Collections.shuffle(order, random);
      for (String name : order) {
        long start = System.nanoTime();
        T result = turn.take(name);
        long took = System.nanoTime() - start;
        after.end(result);
        if (i >= 0) {
          Objects.requireNonNull(nanos.get(name))[i] = took;
        }
      }
    }
    var samples = new LinkedHashMap<String, Samples>();
    nanos.forEach((name, all) -> samples.put(name, of(all)));
    return samples;
  }

  /** One timed call for one of several. */
  interface Turn<T> {
    T take(String name) throws Exception;
  }

  /** What becomes of the result of one. */
  interface Ending<T> {
    void end(T result) throws Exception;
  }

  /** What has to be so before a call. */
  interface Preparation {
    void run() throws Exception;
  }

  double p50Millis() {
    return at(0.50);
  }

  double p95Millis() {
    return at(0.95);
  }

  private double at(double quantile) {
    int index = (int) Math.min(sorted.length - 1L, Math.round(quantile * (sorted.length - 1)));
    return sorted[index] / 1e6;
  }
}
