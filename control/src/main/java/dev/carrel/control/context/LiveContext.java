package dev.carrel.control.context;

import dev.carrel.spi.ContextId;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A context with its line of waiting cells. Whoever has the turn owns the kernel. */
final class LiveContext {
  private static final Duration SAVE_INTERVAL = Duration.ofSeconds(2);

  private final ContextId id;
  private final SandboxId sandbox;
  private final CreateContext request;
  private final boolean isDefault;
  private final Instant createdAt;
  private final Semaphore turn = new Semaphore(1, true);
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicLong executions;
  private volatile Instant lastUsedAt;
  private volatile @Nullable Kernel kernel;
  private volatile @Nullable Cell cell;
  private volatile @Nullable Kernel saved;
  private volatile boolean deleted;
  private volatile long savedAt = System.nanoTime();
  private volatile boolean adopted;
  private volatile boolean everStarted;
  private volatile boolean lost;

  LiveContext(
      ContextId id,
      SandboxId sandbox,
      CreateContext request,
      boolean isDefault,
      Instant createdAt,
      long executions) {
    this.id = id;
    this.sandbox = sandbox;
    this.request = request;
    this.isDefault = isDefault;
    this.createdAt = createdAt;
    this.lastUsedAt = createdAt;
    this.executions = new AtomicLong(executions);
  }

  ContextId id() {
    return id;
  }

  SandboxId sandbox() {
    return sandbox;
  }

  Language language() {
    return request.language();
  }

  CreateContext request() {
    return request;
  }

  boolean isDefault() {
    return isDefault;
  }

  /** Waits in line for at most so long, first come first served. */
  void takeTurn(int maxWaiting, Duration patience) throws InterruptedException {
    // The plain tryAcquire() would jump the line.
    if (turn.tryAcquire(0, TimeUnit.NANOSECONDS)) {
      checkDeleted();
      return;
    }
    if (waiting.incrementAndGet() > maxWaiting) {
      waiting.decrementAndGet();
      throw full(maxWaiting);
    }
    try {
      if (!turn.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS)) {
        throw busyForTooLong(patience);
      }
    } finally {
      waiting.decrementAndGet();
    }
    checkDeleted();
  }

  /** Throws when whoever comes now would be refused. */
  void requireRoom(int maxWaiting) {
    if (turn.availablePermits() == 0 && waiting.get() >= maxWaiting) {
      throw full(maxWaiting);
    }
  }

  private SandboxException full(int maxWaiting) {
    return new SandboxException(
            ErrorCode.LIMIT_REACHED,
            "%d cells are waiting for context %s, the most that may".formatted(maxWaiting, id))
        .withHint("wait for them, use another context, or raise context.max-queued");
  }

  private SandboxException busyForTooLong(Duration patience) {
    return new SandboxException(
            ErrorCode.LIMIT_REACHED,
            "it waited %d ms for context %s, all the time it had: other code runs there"
                .formatted(patience.toMillis(), id))
        .withHint("interrupt that code, use another context, or give it a longer timeout");
  }

  void endTurn() {
    cell = null;
    lastUsedAt = Instant.now();
    turn.release();
  }

  @Nullable Kernel kernel() {
    return kernel;
  }

  void kernel(@Nullable Kernel newKernel) {
    kernel = newKernel;
    if (newKernel != null) {
      everStarted = true;
      lost = false;
    }
  }

  /** The interpreter that the next server would find. */
  @Nullable Kernel saved() {
    return saved;
  }

  void saved(Kernel newSaved) {
    saved = newSaved;
  }

  /** An earlier process started its interpreter, joined or not. */
  void adopted() {
    adopted = true;
  }

  boolean everStarted() {
    return everStarted || adopted;
  }

  @Nullable Cell cell() {
    return cell;
  }

  void cell(Cell newCell) {
    cell = newCell;
  }

  long nextExecution() {
    return executions.incrementAndGet();
  }

  long executions() {
    return executions.get();
  }

  void resetExecutions() {
    executions.set(0);
  }

  /** Takes the first turn, for joining the interpreter of an earlier process. */
  void joining() {
    turn.acquireUninterruptibly();
  }

  /** Its machine is gone. */
  void ended() {
    Cell running = cell;
    if (running != null) {
      // Its kernel's reader may wait for who reads the cell, and would never learn of the end.
      running.stopWaiting();
    }
    lost();
  }

  /** Its interpreter is gone with its machine, or ended while nobody looked. */
  void lost() {
    everStarted = true;
    kernel = null;
    lost = true;
  }

  /** Whether the count of executions has not been written for a while. */
  boolean saveIsDue() {
    long now = System.nanoTime();
    boolean due = now - savedAt > SAVE_INTERVAL.toNanos();
    if (due) {
      savedAt = now;
    }
    return due;
  }

  void delete() {
    deleted = true;
  }

  boolean deleted() {
    return deleted;
  }

  Context snapshot() {
    Kernel now = kernel;
    KernelEvent.Ready greeting = now == null ? null : now.greeting();
    Context.Status status;
    if (cell != null) {
      status = Context.Status.BUSY;
    } else if (everStarted && (now == null || !now.alive())) {
      status = lost ? Context.Status.LOST : Context.Status.DEAD;
    } else {
      status = Context.Status.IDLE;
    }
    return new Context(
        id,
        sandbox,
        request.language(),
        request.cwd(),
        greeting == null ? null : greeting.version(),
        greeting == null ? null : greeting.flavour(),
        request.preload(),
        now == null ? null : now.start(),
        status,
        isDefault,
        executions.get(),
        waiting.get(),
        createdAt,
        lastUsedAt);
  }

  private void checkDeleted() {
    if (deleted) {
      turn.release();
      throw new SandboxException(ErrorCode.CONTEXT_NOT_FOUND, "context " + id + " was deleted");
    }
  }
}
