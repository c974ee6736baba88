package dev.carrel.control.event;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What happened lately, by tenant, and what happens now. In memory and bounded: who needs to know
 * for certain asks for the thing itself. Safe for many threads; telling never waits for a reader.
 */
public final class Events {
  private static final int PER_TENANT = 1000;
  private static final int ALL = 10_000;
  // Room for a thousand events in each millisecond of the past: no two servers give one id.
  private static final long IDS_PER_MILLI = 1000;

  private final AtomicLong ids = new AtomicLong(System.currentTimeMillis() * IDS_PER_MILLI);
  private final long first = ids.get();
  private final Ring all = new Ring(ALL, first);
  private final Map<String, Ring> tenants = new ConcurrentHashMap<>();

  public void tell(
      String tenant, String kind, @Nullable SandboxId sandbox, Map<String, String> details) {
    Ring ring = ring(tenant);
    // Ids must enter a ring in order, or a reader would pass one by.
    synchronized (ids) {
      var event = new Event(ids.incrementAndGet(), Instant.now(), tenant, kind, sandbox, details);
      ring.add(event);
      all.add(event);
    }
  }

  /**
   * Begins to listen.
   *
   * @param tenant null: all of them
   * @param sandbox null: whatever it is about
   * @param after the last event that the reader has seen; null: only what happens from now on
   */
  public Subscription listen(
      @Nullable String tenant, @Nullable SandboxId sandbox, @Nullable Long after) {
    Ring ring = tenant == null ? all : ring(tenant);
    return new Subscription(ring, sandbox, after == null ? ids.get() : after);
  }

  private Ring ring(String tenant) {
    return tenants.computeIfAbsent(tenant, _ -> new Ring(PER_TENANT, first));
  }

  /** One reader's place. For one thread. */
  public static final class Subscription {
    private final Ring ring;
    private final @Nullable SandboxId sandbox;
    private long last;

    private Subscription(Ring ring, @Nullable SandboxId sandbox, long last) {
      this.ring = ring;
      this.sandbox = sandbox;
      this.last = last;
    }

    /** Waits for the next event; null when none came in time. */
    public @Nullable Event next(Duration patience) throws InterruptedException {
      long forgotten = ring.forgotten();
      if (last < forgotten) {
        last = forgotten;
        return new Event(last, Instant.now(), "", Event.MISSED, null, Map.of());
      }
      Event event = ring.next(last, e -> sandbox == null || sandbox.equals(e.sandbox()), patience);
      if (event != null) {
        last = event.id();
      }
      return event;
    }
  }
}
