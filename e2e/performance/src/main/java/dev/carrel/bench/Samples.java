package dev.carrel.bench;

import java.util.Arrays;
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
