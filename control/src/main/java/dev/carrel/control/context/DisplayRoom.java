package dev.carrel.control.context;

import java.util.HashMap;
import java.util.Map;

/**
 * What the values of all cells, and the events of those that run with a key, may take in memory
 * together, from their coming until whoever asked has been told of them. A tenant has at most half
 * of it. Safe for many threads.
 */
final class DisplayRoom {
  private static final long MOST = 256L << 20;

  /** A value is in memory about twice while it is told. */
  private static final int PART_OF_HEAP = 5;

  private final long most;
  private final Map<String, Long> taken = new HashMap<>();
  private long all;

  DisplayRoom(long most) {
    this.most = most;
  }

  static DisplayRoom ofThisServer() {
    return new DisplayRoom(Math.min(MOST, Runtime.getRuntime().maxMemory() / PART_OF_HEAP));
  }

  Share share(String tenant) {
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

  /** What the values of one cell take; closed, it takes nothing any more. */
  final class Share implements AutoCloseable {
    private final String tenant;
    private long bytes;
    private boolean closed;

    private Share(String tenant) {
      this.tenant = tenant;
    }

    synchronized boolean take(long more) {
      if (closed || !DisplayRoom.this.take(tenant, more)) {
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
