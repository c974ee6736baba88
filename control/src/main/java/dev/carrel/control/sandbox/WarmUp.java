package dev.carrel.control.sandbox;

/** What can be done in a box before anybody owns it. */
public interface WarmUp {
  /** Starts an interpreter that the box's first owner will use. */
  void warm(RunningSandbox box, Interpreter interpreter) throws InterruptedException;
}
