package dev.carrel.control.context;

import org.jspecify.annotations.Nullable;

/** Where one reader gets the events of a cell from. */
interface CellSource {
  /** Null when nothing came in time. */
  @Nullable CodeEvent take(long nanos) throws InterruptedException;

  /** The number of the last event that was taken; the first of a cell is 1. */
  long taken();
}
