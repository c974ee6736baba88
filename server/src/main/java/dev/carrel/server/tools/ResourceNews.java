package dev.carrel.server.tools;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.mcp.Catalog;
import dev.carrel.server.mcp.Catalog.News;
import dev.carrel.spi.SandboxId;
import java.util.Set;

/**
 * Tells clients of MCP what happens to the things they can read, each of its own tenant's alone.
 * Closing it ends its thread.
 */
public final class ResourceNews implements Catalog.Listening {
  private static final Caller EVERYBODY = new Caller("default", "carrel", Caller.Role.ADMIN);
  private static final Set<String> KINDS = Set.of("sandbox", "skill", "execution", "egress");

  private final Sandboxes sandboxes;
  private final Catalog catalog;
  private final Thread thread;

  private ResourceNews(Sandboxes sandboxes, Catalog catalog) {
    this.sandboxes = sandboxes;
    this.catalog = catalog;
    Events.Subscription first = subscribe();
    this.thread = Thread.ofVirtual().name("mcp-news").start(() -> follow(first));
  }

  /** What happens from now on is told. */
  public static ResourceNews begin(Sandboxes sandboxes, Catalog catalog) {
    return new ResourceNews(sandboxes, catalog);
  }

  private Events.Subscription subscribe() {
    return sandboxes.events(EVERYBODY, EventFilter.of(null).withKinds(KINDS), null);
  }

  private void follow(Events.Subscription first) {
    Events.Subscription events = first;
    try {
      while (true) {
        Event event = events.next();
        if (event.kind().equals(Event.DROPPED) || event.kind().equals(Event.MISSED)) {
          // More happened than is kept: whatever is known may be otherwise.
          events = subscribe();
          catalog.announce(new News.Resources());
          catalog.announce(new News.UpdatedBelow(""));
        } else {
          tell(event);
        }
      }
    } catch (InterruptedException e) {
      // Closed.
      Thread.currentThread().interrupt();
    }
  }

  private void tell(Event event) {
    SandboxId sandbox = event.sandbox();
    switch (event.kind()) {
      case Event.SKILL_ADDED, Event.SKILL_UPDATED, Event.SKILL_DELETED -> {
        catalog.announce(event.tenant(), new News.Resources());
        String prefix = SkillResources.uri(String.valueOf(event.details().get("name")), "");
        catalog.announce(event.tenant(), new News.UpdatedBelow(prefix));
      }
      case Event.SANDBOX_CREATED,
          "sandbox.started",
          "sandbox.stopped",
          "sandbox.failed",
          Event.SANDBOX_DESTROYED ->
          catalog.announce(event.tenant(), new News.Resources());
      default -> {
        // Changes no list.
      }
    }
    if (sandbox != null) {
      String below = SandboxResources.uri(sandbox);
      boolean gone = event.kind().equals(Event.SANDBOX_DESTROYED);
      catalog.announce(
          event.tenant(),
          gone
              ? new News.UpdatedBelow(below)
              : new News.Updated(below + (isPolicy(event) ? "policy" : "state")));
    }
  }

  private static boolean isPolicy(Event event) {
    return event.kind().equals(Event.SANDBOX_POLICY) || event.kind().equals(Event.EGRESS_APPROVED);
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
