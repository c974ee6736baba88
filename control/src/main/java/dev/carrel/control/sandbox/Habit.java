package dev.carrel.control.sandbox;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What sandboxes are used for first, as far as one can tell from the last ones. */
final class Habit {
  /** So many boxes in a row were taken and had their interpreter for nothing. */
  private static final int IN_VAIN = 8;

  private @Nullable Interpreter interpreter;
  private int vain;

  /** Somebody began with this. */
  synchronized void begunWith(Interpreter used) {
    interpreter = used;
    vain = 0;
  }

  /** A box went to somebody who may or may not do the same. */
  synchronized void taken() {
    vain++;
    if (vain >= IN_VAIN) {
      interpreter = null;
    }
  }

  synchronized Set<Interpreter> interpreters() {
    return interpreter == null ? Set.of() : Set.of(interpreter);
  }
}
