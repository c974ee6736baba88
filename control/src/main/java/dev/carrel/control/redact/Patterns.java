package dev.carrel.control.redact;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * Finds many byte strings at once, after Wu and Manber: two bytes at the end of a window as long as
 * the shortest string say how far the window can move, which is nearly its whole length in most
 * text. Immutable; safe for many threads.
 */
final class Patterns {
  private static final int TABLE = 1 << 14;
  // So that a shift is a byte.
  private static final int MAX_WINDOW = 100;

  private final int window;
  private final int longest;
  private final byte[] shifts = new byte[TABLE];
  private final short[] bucket = new short[TABLE];
  private final Pattern[][] buckets;
  private final Pattern[][] byFirst = new Pattern[256][];

  /** One string of one value. */
  @SuppressWarnings("ArrayRecordComponent") // never changed
  private record Pattern(byte[] bytes, String name, boolean canary) {}

  Patterns(Collection<Protected> values) {
    var all = new ArrayList<Pattern>();
    for (Protected value : values) {
      for (byte[] form : Forms.of(value.bytes())) {
        all.add(new Pattern(form, value.name(), value.canary()));
      }
    }
    window =
        Math.min(MAX_WINDOW, all.stream().mapToInt(p -> p.bytes.length).min().orElse(MAX_WINDOW));
    longest = all.stream().mapToInt(p -> p.bytes.length).max().orElse(0);
    Arrays.fill(shifts, (byte) (window - 1));
    var lists = new ArrayList<List<Pattern>>(List.of(List.of()));
    for (Pattern pattern : all) {
      enter(pattern, lists);
      int first = pattern.bytes[0] & 0xff;
      Pattern[] others = byFirst[first] == null ? new Pattern[0] : byFirst[first];
      byFirst[first] = Arrays.copyOf(others, others.length + 1);
      byFirst[first][others.length] = pattern;
    }
    buckets = lists.stream().map(list -> list.toArray(Pattern[]::new)).toArray(Pattern[][]::new);
  }

  private void enter(Pattern pattern, List<List<Pattern>> lists) {
    for (int end = 1; end < window; end++) {
      int slot = slot(pattern.bytes[end - 1], pattern.bytes[end]);
      shifts[slot] = (byte) Math.min(shifts[slot], window - 1 - end);
    }
    int last = slot(pattern.bytes[window - 2], pattern.bytes[window - 1]);
    if (bucket[last] == 0) {
      bucket[last] = (short) lists.size();
      lists.add(new ArrayList<>());
    }
    lists.get(bucket[last]).add(pattern);
  }

  int longest() {
    return longest;
  }

  /** Adds what is found between the two. */
  void find(byte[] data, int from, int to, Spans found) {
    int step = window - 1;
    byte[] table = shifts;
    int at = from + step;
    while (at < to) {
      int slot = slot(data[at - 1], data[at]);
      int shift = table[slot];
      if (shift == 0) {
        verify(slot, data, at - step, to, found);
        shift = 1;
      }
      at += shift;
    }
  }

  private void verify(int slot, byte[] data, int start, int to, Spans found) {
    int end = -1;
    for (Pattern pattern : buckets[bucket[slot]]) {
      int length = pattern.bytes.length;
      if (data[start] == pattern.bytes[0]
          && to - start >= length
          && Arrays.equals(data, start, start + length, pattern.bytes, 0, length)) {
        end = Math.max(end, start + length);
        if (pattern.canary) {
          found.canary(pattern.name);
        }
      }
    }
    if (end >= 0) {
      found.add(start, end);
    }
  }

  /** The first place from which the rest could be the beginning of something; else the end. */
  int pending(byte[] data, int from, int to) {
    for (int at = Math.max(from, to - longest + 1); at < to; at++) {
      Pattern[] candidates = byFirst[data[at] & 0xff];
      if (candidates != null && begins(candidates, data, at, to)) {
        return at;
      }
    }
    return to;
  }

  private static boolean begins(Pattern[] candidates, byte[] data, int at, int to) {
    int length = to - at;
    for (Pattern pattern : candidates) {
      if (pattern.bytes.length > length
          && (length == 1 || pattern.bytes[1] == data[at + 1])
          && Arrays.equals(data, at, to, pattern.bytes, 0, length)) {
        return true;
      }
    }
    return false;
  }

  private static int slot(byte first, byte second) {
    return ((first << 7) ^ (second & 0xff)) & (TABLE - 1);
  }
}
