package dev.carrel.server.e2b;

import dev.carrel.control.files.FileEvents;
import dev.carrel.control.files.FileEvents.FileEvent;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Watches of folders for clients that ask from time to time. One that nobody asks for is ended.
 * Safe for many threads.
 */
final class Watchers implements AutoCloseable {
  private static final int MAX_PER_SANDBOX = 64;
  private static final Duration FORGOTTEN = Duration.ofMinutes(10);
  private static final int MAX_AT_ONCE = 1000;

  private final Map<String, Watcher> open = new ConcurrentHashMap<>();

  String add(SandboxId sandbox, Home home, FileEvents events, boolean withEntry) {
    sweep();
    if (open.values().stream().filter(one -> one.sandbox.equals(sandbox)).count()
        >= MAX_PER_SANDBOX) {
      events.close();
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED, "a sandbox has at most " + MAX_PER_SANDBOX + " watchers")
          .withHint("remove one");
    }
    String id = UUID.randomUUID().toString();
    open.put(id, new Watcher(sandbox, home, events, withEntry));
    return id;
  }

  Watcher require(SandboxId sandbox, String id) {
    Watcher watcher = open.get(id);
    if (watcher == null || !watcher.sandbox.equals(sandbox)) {
      throw new SandboxException(ErrorCode.FILE_NOT_FOUND, "there is no such watcher");
    }
    return watcher;
  }

  void remove(SandboxId sandbox, String id) {
    Watcher watcher = require(sandbox, id);
    if (open.remove(id, watcher)) {
      watcher.events.close();
    }
  }

  @Override
  public void close() {
    open.values().forEach(watcher -> watcher.events.close());
    open.clear();
  }

  private void sweep() {
    Instant old = Instant.now().minus(FORGOTTEN);
    open.entrySet()
        .removeIf(
            entry -> {
              boolean forgotten = entry.getValue().asked.isBefore(old);
              if (forgotten) {
                entry.getValue().events.close();
              }
              return forgotten;
            });
  }

  /** One watch. */
  static final class Watcher {
    private final SandboxId sandbox;
    private final Home home;
    private final FileEvents events;
    private final boolean withEntry;
    private volatile Instant asked = Instant.now();

    private Watcher(SandboxId sandbox, Home home, FileEvents events, boolean withEntry) {
      this.sandbox = sandbox;
      this.home = home;
      this.events = events;
      this.withEntry = withEntry;
    }

    Home home() {
      return home;
    }

    boolean withEntry() {
      return withEntry;
    }

    /** What has come since the last time. */
    synchronized List<FileEvent> take() throws InterruptedException {
      asked = Instant.now();
      var taken = new ArrayList<FileEvent>();
      while (taken.size() < MAX_AT_ONCE) {
        FileEvent event = events.next(Duration.ZERO);
        if (event == null) {
          break;
        }
        if (event.kind() != FileEvent.Kind.OVERFLOW) {
          taken.add(event);
        }
      }
      return taken;
    }
  }
}
