package dev.carrel.control.sandbox;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.SandboxException;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * Makes room for a new sandbox where the operator allows it: stops the one that was idle for
 * longest. Never one that is busy, works by itself or is being changed, and never one whose files
 * would be lost.
 */
final class Eviction {
  private final BooleanSupplier allowed;
  private final Life life;
  private final Telemetry telemetry;

  /**
   * @param allowed whether this may be done at all
   */
  Eviction(BooleanSupplier allowed, Life life, Telemetry telemetry) {
    this.allowed = allowed;
    this.life = life;
    this.telemetry = telemetry;
  }

  /**
   * Whether there is room for one more now.
   *
   * @param tenant whose limit is reached; empty: the server's
   */
  boolean makeRoom(String tenant) {
    // By what was read once: they are used meanwhile.
    List<Idle> longestIdleFirst =
        candidates(tenant)
            .map(sandbox -> new Idle(sandbox, sandbox.usedAt()))
            .sorted(Comparator.comparing(Idle::since))
            .toList();
    return longestIdleFirst.stream().map(Idle::sandbox).anyMatch(this::evict);
  }

  /** As {@link #makeRoom}, without doing anything about it. */
  boolean mightMakeRoom(String tenant) {
    return candidates(tenant).findAny().isPresent();
  }

  private Stream<RunningSandbox> candidates(String tenant) {
    return allowed.getAsBoolean()
        ? life.running().stream()
            .filter(sandbox -> tenant.isEmpty() || sandbox.row().tenant().equals(tenant))
            .filter(s -> s.row().persistent() && !s.busy() && !s.works())
        : Stream.empty();
  }

  private boolean evict(RunningSandbox sandbox) {
    try {
      // Who changes it may do so for long, or be the one for whom room is made.
      if (!life.turns().taken(sandbox.id())
          && life.stopUnused(sandbox, sandbox.uses(), Failures.evicted())) {
        telemetry.count("sandboxes_evicted");
        return true;
      }
    } catch (SandboxException e) {
      // Gone while we came: then there is room too, or the next one has to go.
      return !life.running().contains(sandbox);
    }
    return false;
  }

  private record Idle(RunningSandbox sandbox, Instant since) {}
}
