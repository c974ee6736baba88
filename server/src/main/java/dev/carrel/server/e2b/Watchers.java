package dev.carrel.server.e2b;

import dev.carrel.control.files.FileEvents;
import dev.carrel.control.files.FileEvents.FileEvent;
import dev.carrel.server.http.Rounds;
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
  private static final Duration ROUND = Duration.ofMinutes(1);
  private static final int MAX_AT_ONCE = 1000;

  private final Map<String, Watcher> open = new ConcurrentHashMap<>();
  private final Duration forgotten;
  private final Rounds rounds;

  Watchers() {
    this(FORGOTTEN, ROUND);
  }

  /**
   * @param forgotten one that nobody has asked for so long is ended: it keeps its sandbox in use
   */
  Watchers(Duration forgotten, Duration round) {
    this.forgotten = forgotten;
    this.rounds = new Rounds(round, this::endForgotten);
  }

  String add(SandboxId sandbox, Home home, FileEvents events, boolean withEntry) {
    boolean _ = endForgotten();
    if (open.values().stream().filter(one -> one.sandbox.equals(sandbox)).count()
        >= MAX_PER_SANDBOX) {
      events.close();
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED, "a sandbox has at most " + MAX_PER_SANDBOX + " watchers")
          .withHint("remove one");
    }
    String id = UUID.randomUUID().toString();
    open.put(id, new Watcher(sandbox, home, events, withEntry));
    rounds.begin();
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
    rounds.close();
    open.values().forEach(watcher -> watcher.events.close());
    open.clear();
  }

  private boolean endForgotten() {
    Instant old = Instant.now().minus(forgotten);
    open.entrySet()
        .removeIf(
            entry -> {
              boolean late = entry.getValue().asked.isBefore(old);
              if (late) {
                entry.getValue().events.close();
              }
              return late;
            });
    return !open.isEmpty();
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
