package dev.carrel.guest;

/** Whom a signal reaches. */
public enum SignalScope {
  MAIN(0),
  /** The main process's group; on a terminal, the one in its foreground. */
  GROUP(1),
  /** Every descendant, also those that left the group. */
  TREE(2);

  private final int wire;

  SignalScope(int wire) {
    this.wire = wire;
  }

  int wire() {
    return wire;
  }
}
