package dev.carrel.control.sandbox;

import dev.carrel.spi.Language;

/** What can be done in a box before anybody owns it. */
public interface WarmUp {
  /** Starts an interpreter that the box's first owner will use. */
  void warm(RunningSandbox box, Language language) throws InterruptedException;
}
