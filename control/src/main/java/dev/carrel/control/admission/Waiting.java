package dev.carrel.control.admission;

/** Told where a request stands while it waits: at once, and when that changes. */
@FunctionalInterface
public interface Waiting {
  /** Nobody wants to know. */
  Waiting UNSEEN = _ -> {};

  /**
   * @param position 1 is the next; what this throws ends the waiting
   */
  void at(int position);
}
