package dev.carrel.control.terminal;

/** What somebody who is attached to a terminal may do. */
public enum Mode {
  /** Looks. */
  READ,
  /** Types as well, as do all others who may. */
  WRITE,
  /** Types alone: not while another types, and no other while it does. */
  SOLE;

  public boolean writes() {
    return this != READ;
  }
}
