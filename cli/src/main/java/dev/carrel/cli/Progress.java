package dev.carrel.cli;

import java.io.PrintStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A line that appears when something takes over a second and is gone when it is done. Closing waits
 * until the line is off, so nothing printed afterwards mixes with it.
 */
final class Progress implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(1);
  private static final String[] FRAMES = {"⠋", "⠙", "⠸", "⠴", "⠦", "⠇"};

  private final CountDownLatch done = new CountDownLatch(1);
  private final @Nullable Thread painter;

  private Progress(@Nullable Thread painter) {
    this.painter = painter;
  }

  private Progress(PrintStream terminal, String what) {
    painter = Thread.ofVirtual().name("progress").start(() -> paint(terminal, what));
  }

  static Progress on(PrintStream terminal, String what) {
    return new Progress(terminal, what);
  }

  static Progress none() {
    return new Progress(null);
  }

  private void paint(PrintStream terminal, String what) {
    long started = System.nanoTime();
    try {
      if (done.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        return;
      }
      for (int frame = 0; ; frame++) {
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - started);
        terminal.printf("\r\033[K%s %s … %d s", FRAMES[frame % FRAMES.length], what, seconds);
        terminal.flush();
        if (done.await(120, TimeUnit.MILLISECONDS)) {
          break;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    terminal.print("\r\033[K");
    terminal.flush();
  }

  @Override
  public void close() {
    done.countDown();
    if (painter != null) {
      try {
        painter.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
