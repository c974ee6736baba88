package dev.carrel.control.event;

import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What happened lately, by tenant, and what happens now. In memory and bounded: who needs to know
 * for certain asks for the thing itself, or the audit. Safe for many threads; telling never waits
 * for a reader.
 */
public final class Events {
  private static final int PER_TENANT = 4096;
  private static final int ALL = 16_384;
  // Room for a thousand events in each millisecond of the past: no two servers give one id.
  private static final long IDS_PER_MILLI = 1000;

  /** What has two names: who knows sandboxes as sessions hears of those. */
  private static final Map<String, String> ALSO =
      Map.of(
          Event.SANDBOX_CREATED,
          Event.SESSION_CREATED,
          Event.SANDBOX_DESTROYED,
          Event.SESSION_KILLED);

  private final AtomicLong ids = new AtomicLong(System.currentTimeMillis() * IDS_PER_MILLI);
  private final long first = ids.get();
  private final Ring all = new Ring(ALL, first);
  private final Map<String, Ring> tenants = new ConcurrentHashMap<>();

  /** Tells of what is in no namespace. */
  public void tell(
      String tenant, String kind, @Nullable SandboxId sandbox, Map<String, String> details) {
    tell(tenant, "", kind, sandbox, details);
  }

  /**
   * @param namespace empty when it is about none
   */
  public void tell(
      String tenant,
      String namespace,
      String kind,
      @Nullable SandboxId sandbox,
      Map<String, String> details) {
    Ring ring = ring(tenant);
    // Ids must enter a ring in order, or a reader would pass one by.
    synchronized (ids) {
      add(ring, tenant, namespace, kind, sandbox, details);
      String also = ALSO.get(kind);
      if (also != null) {
        add(ring, tenant, namespace, also, sandbox, details);
      }
    }
  }

  private void add(
      Ring ring,
      String tenant,
      String namespace,
      String kind,
      @Nullable SandboxId sandbox,
      Map<String, String> details) {
    var event =
        new Event(ids.incrementAndGet(), Instant.now(), tenant, namespace, kind, sandbox, details);
    ring.add(event);
    all.add(event);
  }

  /**
   * Begins to listen.
   *
   * @param after the last event that the reader has seen; null: only what happens from now on
   */
  public Subscription listen(EventFilter filter, @Nullable Long after) {
    String tenant = filter.tenant();
    Ring ring = tenant == null ? all : ring(tenant);
    return new Subscription(ring, filter, after == null ? ids.get() : after);
  }

  /** The last so many that are kept and wanted, oldest first. */
  public List<Event> recent(EventFilter filter, int limit) {
    String tenant = filter.tenant();
    return (tenant == null ? all : ring(tenant)).last(filter::wants, limit);
  }

  private Ring ring(String tenant) {
    return tenants.computeIfAbsent(tenant, _ -> new Ring(PER_TENANT, first));
  }

  /** One reader's place. For one thread. */
  public static final class Subscription {
    private final Ring ring;
    private final EventFilter filter;
    private long last;
    private boolean begun;

    private Subscription(Ring ring, EventFilter filter, long last) {
      this.ring = ring;
      this.filter = filter;
      this.last = last;
    }

    /**
     * Waits for the next event; null when none came in time. One who begins where nothing is kept
     * any more is told {@link Event#MISSED}; one who reads too slowly is told {@link
     * Event#DROPPED}, and gets no more.
     */
    public @Nullable Event next(Duration patience) throws InterruptedException {
      return within(patience);
    }

    /** As {@link #next(Duration)}, without end. */
    public Event next() throws InterruptedException {
      return Objects.requireNonNull(within(null));
    }

    private @Nullable Event within(@Nullable Duration patience) throws InterruptedException {
      long forgotten = ring.forgotten();
      boolean behind = last < forgotten;
      boolean fresh = !begun;
      begun = true;
      if (behind) {
        last = forgotten;
        return new Event(
            last, Instant.now(), "", "", fresh ? Event.MISSED : Event.DROPPED, null, Map.of());
      }
      Ring.Found found = ring.next(last, filter::wants, patience);
      last = found.seen();
      return found.event();
    }
  }
}
