package dev.carrel.cli;

import java.util.concurrent.atomic.AtomicBoolean;

/** Something that must happen once: when closed, or else when the process is told to end. */
final class AtExit implements AutoCloseable {
  private final Runnable action;
  private final AtomicBoolean done = new AtomicBoolean();
  private final Thread hook = Thread.ofPlatform().unstarted(this::once);

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

  private void once() {
    if (done.compareAndSet(false, true)) {
      action.run();
    }
  }
}
