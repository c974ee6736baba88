package dev.carrel.control.redact;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;

/** Where something was found, in order; what overlaps or touches is one. */
final class Spans {
  private int[] bounds = new int[8];
  private int size;
  private final Set<String> canaries = new LinkedHashSet<>();

  void clear() {
    size = 0;
    canaries.clear();
  }

  boolean isEmpty() {
    return size == 0;
  }

  int count() {
    return size / 2;
  }

  int start(int index) {
    return bounds[2 * index];
  }

  int end(int index) {
    return bounds[2 * index + 1];
  }

  /** What ends before it starts must have been added before. */
  void add(int start, int end) {
    int first = start;
    int last = end;
    while (size > 0 && start < bounds[size - 1]) {
      last = Math.max(last, bounds[--size]);
      first = Math.min(first, bounds[--size]);
    }
    if (size == bounds.length) {
      bounds = Arrays.copyOf(bounds, size * 2);
    }
    bounds[size++] = first;
    bounds[size++] = last;
  }

  void canary(String name) {
    canaries.add(name);
  }

  Set<String> canaries() {
    return canaries;
  }
}
