package dev.carrel.sdk;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What arrives one by one, as an iterator: each look ahead waits for the next, and an empty one is
 * the end.
 */
final class Arrivals<E> implements Iterator<E> {
  private final Supplier<Optional<E>> source;
  private Optional<E> upcoming = Optional.empty();
  private boolean over;

  Arrivals(Supplier<Optional<E>> source) {
    this.source = source;
  }

  @Override
  public boolean hasNext() {
    if (upcoming.isEmpty() && !over) {
      upcoming = source.get();
      over = upcoming.isEmpty();
    }
    return upcoming.isPresent();
  }

  @Override
  public E next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the stream has ended");
    }
    E arrived = upcoming.orElseThrow();
    upcoming = Optional.empty();
    return arrived;
  }
}
