package dev.carrel.control.sandbox;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One writer per sandbox: whoever changes its status, or in a line of its own what is installed in
 * it, has its turn. Others wait in line, and only for that sandbox; whoever only looks needs none.
 */
public final class Turns {
  private final Map<SandboxId, Line> lines = new ConcurrentHashMap<>();

  /** Waits for those before; a thread that has the turn may take it again. */
  Turn take(SandboxId id, Duration patience) {
    Line line = enter(id);
    boolean interrupted = false;
    try {
      long end = System.nanoTime() + patience.toNanos();
      while (true) {
        try {
          if (!line.lock.tryLock(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
            leave(id);
            throw new SandboxException(
                    ErrorCode.WRONG_STATE,
                    "sandbox %s is still busy with another change after %d s"
                        .formatted(id, patience.toSeconds()))
                .withHint("try again in a moment");
          }
          return new Turn(this, id, line);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Waits until it is cancelled, or those before are done. */
  public Turn await(SandboxId id) throws InterruptedException {
    Line line = enter(id);
    try {
      line.lock.lockInterruptibly();
    } catch (InterruptedException e) {
      leave(id);
      throw e;
    }
    return new Turn(this, id, line);
  }

  /** Waits for as long as it takes; what others do in their turn is bounded. */
  Turn takeAtLast(SandboxId id) {
    Line line = enter(id);
    line.lock.lock();
    return new Turn(this, id, line);
  }

  /**
   * Does this in the sandbox's turn: at once, or when somebody else has that, in a thread of its
   * own, which is returned.
   */
  Optional<Thread> run(SandboxId id, Runnable work) {
    Line line = enter(id);
    if (line.lock.tryLock()) {
      try (Turn _ = new Turn(this, id, line)) {
        work.run();
      }
      return Optional.empty();
    }
    leave(id);
    return Optional.of(
        Thread.ofVirtual()
            .name(id + "-turn")
            .start(
                () -> {
                  try (Turn _ = takeAtLast(id)) {
                    work.run();
                  }
                }));
  }

  /** Whether somebody changes it just now. */
  boolean taken(SandboxId id) {
    Line line = lines.get(id);
    return line != null && line.lock.isLocked();
  }

  private Line enter(SandboxId id) {
    return lines.compute(
        id,
        (_, line) -> {
          Line entered = line == null ? new Line() : line;
          entered.users++;
          return entered;
        });
  }

  private void leave(SandboxId id) {
    lines.computeIfPresent(id, (_, line) -> --line.users == 0 ? null : line);
  }

  /** The right to change one sandbox, until it is closed. */
  public static final class Turn implements AutoCloseable {
    private final Turns turns;
    private final SandboxId id;
    private final Line line;

    private Turn(Turns turns, SandboxId id, Line line) {
      this.turns = turns;
      this.id = id;
      this.line = line;
    }

    @Override
    public void close() {
      line.lock.unlock();
      turns.leave(id);
    }
  }

  private static final class Line {
    final ReentrantLock lock = new ReentrantLock(true);
    int users; // guarded by the map's own lock of this entry
  }
}
