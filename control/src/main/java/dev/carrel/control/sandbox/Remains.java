package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.store.Reserve;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Machines that nobody may use any more and that are not gone yet. */
final class Remains {
  private static final Logger LOG = LoggerFactory.getLogger(Remains.class);
  private static final Duration END_LIMIT = Duration.ofSeconds(30);

  private final SandboxStore store;
  private final WorkspaceVolumes volumes;
  private final List<SandboxListener> listeners;
  // Nobody sees them; the watch tries again.
  private final Map<SandboxId, RunningSandbox> lingering = new ConcurrentHashMap<>();
  // Starts that have not come back yet, also those that were given up.
  private final Set<SandboxId> stragglers = ConcurrentHashMap.newKeySet();

  Remains(SandboxStore store, WorkspaceVolumes volumes, List<SandboxListener> listeners) {
    this.store = store;
    this.volumes = volumes;
    this.listeners = listeners;
  }

  /** A machine of this sandbox may come. */
  void expect(SandboxId id) {
    stragglers.add(id);
  }

  /** It has come, or never will. */
  void came(SandboxId id) {
    stragglers.remove(id);
  }

  /** Ends the machine; one that does not end in time remains. */
  void end(RunningSandbox live, Duration grace) {
    lingering.put(live.id(), live);
    attempt(live, grace);
  }

  private void attempt(RunningSandbox live, Duration grace) {
    try {
      Bounded.run("end of " + live.id(), grace.plus(END_LIMIT), () -> live.destroy(grace));
      listeners.forEach(listener -> tell(listener, live.id()));
      Reserve.forRemoval(() -> volumes.release(live.row()));
    } catch (RuntimeException e) {
      // The next attempt does all of it again.
      LOG.warn("the machine of sandbox {} has not ended yet: {}", live.id(), e.toString());
      return;
    }
    lingering.remove(live.id(), live);
    if (live.takeUnsaved()) {
      store.note(live.id(), live.lastActivity(), live.counters());
    }
  }

  private static void tell(SandboxListener listener, SandboxId id) {
    try {
      listener.ended(id);
    } catch (RuntimeException e) {
      // What one of them keeps is no reason to keep the volume, nor the sandbox from its next
      // start.
      LOG.error("the end of the machine of sandbox {} was not told to all", id, e);
    }
  }

  /** Tries again, each in its turn. */
  void endAll(Function<SandboxId, Turn> turns) {
    for (RunningSandbox live : lingering.values()) {
      try (Turn _ = turns.apply(live.id())) {
        // Who had the turn before may have ended it, and started another one.
        if (lingering.get(live.id()) == live) {
          attempt(live, Duration.ZERO);
        }
      } catch (SandboxException e) {
        LOG.debug("the machine of sandbox {} is left for later: {}", live.id(), e.message());
      }
    }
  }

  @Nullable RunningSandbox find(SandboxId id) {
    return lingering.get(id);
  }

  /** Whether a machine of this sandbox is there, or may still come. */
  boolean are(SandboxId id) {
    return lingering.containsKey(id) || stragglers.contains(id);
  }

  /** Tries again to end a former machine, and throws when it stays. */
  void requireNone(SandboxId id) {
    RunningSandbox old = lingering.get(id);
    if (old != null) {
      attempt(old, Duration.ZERO);
    }
    if (are(id)) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "the former machine of sandbox " + id + " has not ended yet")
          .withHint("try again in a moment");
    }
  }
}
