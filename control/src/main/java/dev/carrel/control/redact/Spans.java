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

  /** Starts must come in order. */
  void add(int start, int end) {
    if (size > 0 && start < bounds[size - 1]) {
      bounds[size - 1] = Math.max(bounds[size - 1], end);
      return;
    }
    if (size == bounds.length) {
      bounds = Arrays.copyOf(bounds, size * 2);
    }
    bounds[size++] = start;
    bounds[size++] = end;
  }

  void canary(String name) {
    canaries.add(name);
  }

  Set<String> canaries() {
    return canaries;
  }
}
