package dev.carrel.engine.docker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.spi.Machine.Death;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * How machines ended, as the daemon tells it: heard from its events, and asked where they were
 * missed. A thread listens as long as the engine is open; it comes back when the daemon was away,
 * and hears what it missed meanwhile.
 */
final class Ends implements AutoCloseable {
  private static final Duration AGAIN = Duration.ofSeconds(1);

  /** A kill for want of memory counts as the cause of an end that follows it so soon. */
  private static final Duration TOGETHER = Duration.ofSeconds(5);

  private static final int KILLED = 137;
  private static final int BY_SIGNAL = 128;

  private final Daemon daemon;
  private final Map<String, String> labels;
  // Since when, by the clock of events: a sandbox that is started again has the same id.
  private final Map<String, Long> expected = new ConcurrentHashMap<>();
  private final Map<String, Long> killed = new ConcurrentHashMap<>();
  private final Map<String, Death> ended = new ConcurrentHashMap<>();
  private final ObjectMapper mapper = new ObjectMapper();
  private volatile boolean closed;
  private volatile String since;
  private volatile DaemonSocket.@Nullable Stream stream;
  private @Nullable Thread listener;

  /**
   * @param labels of the machines that are listened for
   */
  Ends(Daemon daemon, Map<String, String> labels) {
    this.daemon = daemon;
    this.labels = Map.copyOf(labels);
    this.since = Long.toString(System.currentTimeMillis() / 1000);
  }

  /** Listens from now on. */
  synchronized void listen() {
    if (listener == null && !closed) {
      listener = Thread.ofVirtual().name("docker-events").start(this::run);
    }
  }

  private void run() {
    while (!closed) {
      try (DaemonSocket.Stream events = daemon.events(labels, since)) {
        stream = events;
        if (closed) {
          return;
        }
        MappingIterator<JsonNode> each = mapper.readerFor(JsonNode.class).readValues(events.body());
        while (each.hasNextValue()) {
          hear(each.nextValue());
        }
      } catch (IOException e) {
        // The daemon is away; machines that end meanwhile are asked for, or heard of later.
      }
      LockSupport.parkNanos(AGAIN.toNanos());
    }
  }

  private void hear(JsonNode event) {
    JsonNode about = event.path("Actor").path("Attributes");
    String id = about.path(Labels.SANDBOX).asText("");
    long at = event.path("timeNano").asLong();
    since = "%d.%09d".formatted(at / 1_000_000_000, at % 1_000_000_000);
    Long from = expected.get(id);
    if (from == null || at < from) {
      return; // of a machine that is gone
    }
    switch (event.path("Action").asText("")) {
      case "oom" -> killed.put(id, at);
      case "die" -> {
        Long oom = killed.get(id);
        boolean memory = oom != null && at - oom < TOGETHER.toNanos();
        ended.put(id, death(about.path("exitCode").asInt(-1), memory));
      }
      default -> {} // what else a daemon may tell
    }
  }

  /** There is a machine of this sandbox: what happens from now on is about it. */
  void expect(SandboxId id) {
    expected.put(id.value(), TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()));
  }

  /** How it ended; empty as long as the daemon takes it for running. */
  Optional<Death> of(MachineFolder folder) throws IOException {
    Death heard = ended.get(folder.id().value());
    if (heard != null) {
      return Optional.of(heard);
    }
    JsonNode state;
    try {
      state = daemon.state(folder.container());
    } catch (DaemonException e) {
      if (e.isNotFound()) {
        return Optional.of(
            new Death(Death.Cause.UNKNOWN, "its container was removed, and not by this server"));
      }
      throw e;
    }
    return state.path("Running").asBoolean()
        ? Optional.empty()
        : Optional.of(death(state.path("ExitCode").asInt(-1), state.path("OOMKilled").asBoolean()));
  }

  void forget(SandboxId id) {
    expected.remove(id.value());
    ended.remove(id.value());
    killed.remove(id.value());
  }

  private static Death death(int code, boolean memory) {
    if (code == KILLED) {
      return memory
          ? new Death(
              Death.Cause.OUT_OF_MEMORY,
              "the kernel killed processes at the memory limit, the guest too")
          : new Death(Death.Cause.KILLED, "its first process was ended by signal 9");
    }
    if (code > BY_SIGNAL) {
      return new Death(
          Death.Cause.CRASHED, "its first process was ended by signal " + (code - BY_SIGNAL));
    }
    return code == 0
        ? new Death(Death.Cause.STOPPED, "its guest ended in order")
        : new Death(Death.Cause.CRASHED, "its first process ended with code " + code);
  }

  @Override
  public synchronized void close() {
    closed = true;
    DaemonSocket.Stream open = stream;
    try {
      if (open != null) {
        open.close();
      }
    } catch (IOException e) {
      throw new IllegalStateException(e); // closing a socket has nothing to lose
    }
    if (listener != null) {
      LockSupport.unpark(listener);
    }
  }
}
