package dev.carrel.control.exec;

/** Whom a signal reaches. */
public enum SignalScope {
  MAIN(dev.carrel.guest.SignalScope.MAIN),
  /** The main process's group; on a terminal, the one in its foreground. */
  GROUP(dev.carrel.guest.SignalScope.GROUP),
  /** Every descendant, also those that left the group. */
  TREE(dev.carrel.guest.SignalScope.TREE);

  private final dev.carrel.guest.SignalScope guest;

  SignalScope(dev.carrel.guest.SignalScope guest) {
    this.guest = guest;
  }

  dev.carrel.guest.SignalScope guest() {
    return guest;
  }
}
