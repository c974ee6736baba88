package dev.carrel.control.web;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Pages that were read a short while ago. Bounded by their text; the least used goes first. */
final class PageCache {
  private static final Duration FRESH = Duration.ofMinutes(15);
  private static final long MAX_CHARS = 16L << 20;

  private final InstantSource clock;
  private final Map<Key, Kept> pages = new LinkedHashMap<>(16, 0.75f, true);
  private long chars;

  PageCache(InstantSource clock) {
    this.clock = clock;
  }

  /**
   * What a page is kept under: whoever may not reach it must not find it here.
   *
   * @param gate whose policy it was fetched under
   */
  record Key(String gate, String uri) {}

  private record Kept(Fetched page, Instant at) {
    int size() {
      return page.text().length() + page.uri().toString().length();
    }
  }

  synchronized Optional<Fetched> find(Key key) {
    Kept kept = pages.get(key);
    if (kept == null) {
      return Optional.empty();
    }
    if (kept.at().plus(FRESH).isBefore(clock.instant())) {
      remove(key);
      return Optional.empty();
    }
    return Optional.of(kept.page().fromCache());
  }

  synchronized void put(Key key, Fetched page) {
    remove(key);
    var kept = new Kept(page, clock.instant());
    if (kept.size() > MAX_CHARS / 4) {
      return;
    }
    pages.put(key, kept);
    chars += kept.size();
    while (chars > MAX_CHARS) {
      remove(pages.keySet().iterator().next());
    }
  }

  /** Forgets what was fetched under a policy that has changed or is gone. */
  synchronized void forget(String gate) {
    pages.keySet().stream().filter(key -> key.gate().equals(gate)).toList().forEach(this::remove);
  }

  private void remove(Key key) {
    Kept old = pages.remove(key);
    if (old != null) {
      chars -= old.size();
    }
  }
}
