package dev.carrel.control.exec;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What one sandbox has: execs that run or whose end is not stored yet, slots, room on disk and in
 * memory.
 */
final class SandboxExecs {
  private final Map<ExecId, LiveExec> live = new ConcurrentHashMap<>();
  private final AtomicInteger running = new AtomicInteger();
  private final AtomicLong spillLeft;
  private final Map<ExecId, Long> spilled = new ConcurrentHashMap<>();
  private final int max;
  private final MemoryRoom memory;

  SandboxExecs(ExecSettings settings, MemoryRoom memory) {
    this.memory = memory;
    this.max = settings.maxConcurrent();
    this.spillLeft = new AtomicLong(settings.spillPerSandbox().bytes());
  }

  /** Returns what gives it back; more than once is as once. */
  Runnable takeSlot() {
    if (running.incrementAndGet() > max) {
      running.decrementAndGet();
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "this sandbox runs %d commands, the most it may run at once".formatted(max))
          .withHint("wait for one, end one, or raise exec.max-concurrent");
    }
    return release();
  }

  /** A slot for one that runs already, also where the limit is lower now than when it began. */
  Runnable takeSlotAnyway() {
    running.incrementAndGet();
    return release();
  }

  private Runnable release() {
    var taken = new AtomicBoolean(true);
    return () -> {
      if (taken.compareAndSet(true, false)) {
        running.decrementAndGet();
      }
    };
  }

  void add(LiveExec exec) {
    live.put(exec.id(), exec);
  }

  void remove(LiveExec exec) {
    live.remove(exec.id(), exec);
  }

  @Nullable LiveExec find(ExecId id) {
    return live.get(id);
  }

  Collection<LiveExec> all() {
    return live.values();
  }

  /** What one exec has of its tenant's part of the memory for output. */
  MemoryRoom.Share memory(String tenant) {
    return memory.share(tenant);
  }

  AtomicLong spillLeft() {
    return spillLeft;
  }

  void noteSpill(ExecId id, long bytes) {
    if (bytes > 0) {
      spilled.put(id, bytes);
    }
  }

  /** What an earlier process has spilled already. */
  void countSpill(ExecId id, long bytes) {
    if (bytes > 0 && spilled.putIfAbsent(id, bytes) == null) {
      spillLeft.addAndGet(-bytes);
    }
  }

  void freeSpill(ExecId id) {
    Long bytes = spilled.remove(id);
    if (bytes != null) {
      spillLeft.addAndGet(bytes);
    }
  }
}
