package dev.carrel.control.context;

/** Where the events of a cell go. The kernel's reader fills it. */
interface CellSink {
  void put(CodeEvent event) throws InterruptedException;

  /** From now on nobody waits for room. */
  void drop();

  /** Nothing more will come, though the cell goes on. */
  void abandon();
}
