package dev.carrel.cli;

import java.util.concurrent.atomic.AtomicBoolean;

/** Something that must happen once: when closed, or else when the process is told to end. */
final class AtExit implements AutoCloseable {
  private static volatile boolean begun;

  private final Runnable action;
  private final AtomicBoolean done = new AtomicBoolean();
  private final Thread hook = Thread.ofPlatform().unstarted(this::ending);

  private AtExit(Runnable action) {
    this.action = action;
  }

  static AtExit run(Runnable action) {
    var atExit = new AtExit(action);
    Runtime.getRuntime().addShutdownHook(atExit.hook);
    return atExit;
  }

  /** Does it now; to be closed all the same. */
  void early() {
    once();
  }

  @Override
  public void close() {
    once();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException alreadyEnding) {
      // The hook then finds that nothing is left to do.
      return;
    }
  }

  /** Whether the process is told to end, and things are undone under whoever uses them. */
  static boolean begun() {
    return begun;
  }

  private void ending() {
    begun = true;
    once();
  }

  private void once() {
    if (done.compareAndSet(false, true)) {
      action.run();
    }
  }
}
