package dev.carrel.control.exec;

import java.util.HashMap;
import java.util.Map;

/**
 * What things of one kind may take in memory together, over all tenants, of whom each has at most
 * half of it: the values of cells until whoever asked has been told of them, or the output of execs
 * until nobody has it any more. Safe for many threads.
 */
public final class MemoryRoom {
  private static final long MOST = 256L << 20;

  /** Of what is told there are about two copies meanwhile. */
  private static final int PART_OF_HEAP = 5;

  private final long most;
  private final Map<String, Long> taken = new HashMap<>();
  private long all;

  public MemoryRoom(long most) {
    this.most = most;
  }

  public static MemoryRoom ofThisServer() {
    return new MemoryRoom(Math.min(MOST, Runtime.getRuntime().maxMemory() / PART_OF_HEAP));
  }

  public Share share(String tenant) {
    return new Share(tenant);
  }

  private synchronized boolean take(String tenant, long bytes) {
    long own = taken.getOrDefault(tenant, 0L) + bytes;
    if (own > most / 2 || all + bytes > most) {
      return false;
    }
    taken.put(tenant, own);
    all += bytes;
    return true;
  }

  private synchronized void give(String tenant, long bytes) {
    taken.computeIfPresent(tenant, (_, own) -> own == bytes ? null : own - bytes);
    all -= bytes;
  }

  /** What one cell or exec takes; closed, it takes nothing any more. */
  public final class Share implements AutoCloseable {
    private final String tenant;
    private long bytes;
    private boolean closed;

    private Share(String tenant) {
      this.tenant = tenant;
    }

    /** False: nothing was taken, since that is too much. */
    public synchronized boolean take(long more) {
      if (closed || !MemoryRoom.this.take(tenant, more)) {
        return false;
      }
      bytes += more;
      return true;
    }

    @Override
    public synchronized void close() {
      closed = true;
      give(tenant, bytes);
      bytes = 0;
    }
  }
}
