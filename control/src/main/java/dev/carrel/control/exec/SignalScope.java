package dev.carrel.control.exec;

/** Whom a signal reaches. */
public enum SignalScope {
  MAIN,
  GROUP,
  TREE
}
