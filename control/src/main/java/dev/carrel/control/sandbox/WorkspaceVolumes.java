package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.store.Reserve;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The volumes themselves: copied, measured and removed. Safe for many threads but its sweeps. */
final class WorkspaceVolumes {
  private static final Logger LOG = LoggerFactory.getLogger(WorkspaceVolumes.class);
  private static final Duration COPY_LIMIT = Duration.ofMinutes(10);
  private static final Duration COPY_PATIENCE = Duration.ofMinutes(5);

  private final VolumeStore store;
  private final Engines engines;
  private final TenantTurns turns = new TenantTurns("copies of volumes", COPY_PATIENCE);
  private final Duration orphanMinAge;
  private final Map<VolumeId, Instant> orphans = new HashMap<>();
  private final Set<VolumeId> lent = ConcurrentHashMap.newKeySet();

  WorkspaceVolumes(VolumeStore store, Engines engines, Duration orphanMinAge) {
    this.store = store;
    this.engines = engines;
    this.orphanMinAge = orphanMinAge;
  }

  /**
   * Makes {@code to} with the files of {@code from} as they are at one moment.
   *
   * @param row whose tenant the copy is for, and whose engine makes it
   */
  void copy(Sandbox row, VolumeId from, VolumeId to) {
    Volumes volumes = require(row.engine());
    // It may be removed while it is copied, and its traces with it.
    store.copyTraces(from, to);
    turns.call(
        row.tenant(),
        "copy of " + from,
        COPY_LIMIT,
        () -> {
          volumes.copy(from, to);
          return volumes;
        },
        late -> removeLate(late, to));
    // Again after the files: what came into them meanwhile is noted by now.
    store.copyTraces(from, to);
  }

  /** Somebody uses it though it is nobody's: until {@link #takeBack} no sweep removes it. */
  void lend(VolumeId id) {
    lent.add(id);
  }

  void takeBack(VolumeId id) {
    lent.remove(id);
  }

  <T> T readChanges(String engine, VolumeId id, Volumes.ChangesReader<T> reader)
      throws IOException, InterruptedException {
    return require(engine).readChanges(id, reader);
  }

  /** Bytes on the host's disk; zero for one that was never used. */
  long usedBytes(String engine, VolumeId id) {
    try {
      return require(engine).usedBytes(id);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.VOLUME_NOT_FOUND) {
        return 0;
      }
      throw e;
    }
  }

  /** A sandbox needs its volume no more: its own goes, one with a name is free. */
  void drop(Sandbox row) {
    VolumeId gone = erase(row);
    if (gone != null) {
      store.remove(gone);
    }
  }

  /** As {@link #drop}; returns the one whose row the caller is to remove. */
  @Nullable VolumeId erase(Sandbox row) {
    Sandbox.Volume volume = row.volume();
    if (volume != null && volume.name() != null) {
      store.release(volume.id(), row.id());
      return null;
    }
    return volume != null && erase(row.engine(), volume.id()) ? volume.id() : null;
  }

  /** A sandbox's machine is gone, and with it the use of a volume with a name. */
  void release(Sandbox row) {
    Sandbox.Volume volume = row.volume();
    if (volume != null && volume.name() != null) {
      store.release(volume.id(), row.id());
    }
  }

  /** Removes one that nobody has; the next sweep does when it cannot be done now. */
  void remove(String engine, VolumeId id) {
    if (!erase(engine, id)) {
      return;
    }
    try {
      Reserve.forRemoval(() -> store.remove(id));
    } catch (RuntimeException e) {
      // What it was replaced by, or what failed before, is not to be told as this.
      LOG.warn("volume {} is gone, its row is not yet: {}", id, e.toString());
    }
  }

  private boolean erase(String engine, VolumeId id) {
    var volumes = engines.find(engine).flatMap(Engine::volumes);
    if (volumes.isEmpty()) {
      // Its row stays for the day when the engine is back.
      return false;
    }
    try {
      volumes.get().remove(id);
    } catch (SandboxException e) {
      LOG.warn("volume {} could not be removed yet: {}", id, e.message());
      return false;
    }
    return true;
  }

  /**
   * Removes what belongs to nobody: rows without a sandbox at once, volumes without a row when they
   * have been seen for a while. For one thread.
   *
   * @param spared those without a row that are to be somebody's
   */
  void sweep(Function<SandboxId, Turn> turn, Supplier<Set<VolumeId>> spared) {
    for (VolumeStore.Unowned volume : store.unowned()) {
      SandboxId sandbox = volume.sandbox();
      if (sandbox == null) {
        removeUnlent(volume);
        continue;
      }
      // It may be about to become that sandbox's: look again when nobody else changes it.
      try (Turn _ = turn.apply(sandbox)) {
        if (store.unowned().contains(volume)) {
          removeUnlent(volume);
        }
      } catch (SandboxException e) {
        LOG.debug("volume {} is left for later: {}", volume.id(), e.message());
      }
    }
    sweepOrphans(spared, Instant.now());
  }

  private void removeUnlent(VolumeStore.Unowned volume) {
    if (!lent.contains(volume.id())) {
      remove(volume.engine(), volume.id());
    }
  }

  private void sweepOrphans(Supplier<Set<VolumeId>> spared, Instant now) {
    var seen = new HashSet<VolumeId>();
    for (Engine engine : engines.allowed()) {
      engine.volumes().ifPresent(volumes -> sweepOrphans(volumes, spared, seen, now));
    }
    orphans.keySet().retainAll(seen);
  }

  private void sweepOrphans(
      Volumes volumes, Supplier<Set<VolumeId>> spared, Set<VolumeId> seen, Instant now) {
    // In this order: a volume is noted before it is made, and has a row before it is not spared.
    var found = new HashSet<>(volumes.list());
    found.removeAll(spared.get());
    found.removeAll(store.known());
    for (VolumeId id : found) {
      seen.add(id);
      if (orphans.computeIfAbsent(id, _ -> now).plus(orphanMinAge).isAfter(now)) {
        continue;
      }
      LOG.info("volume {} belongs to nobody: removed", id);
      try {
        volumes.remove(id);
      } catch (SandboxException e) {
        LOG.warn("volume {} could not be removed yet: {}", id, e.message());
      }
    }
  }

  private Volumes require(String engine) {
    return engines
        .usable(engine)
        .flatMap(Engine::volumes)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.NOT_SUPPORTED,
                        "engine '" + engine + "' keeps no volumes on this host")
                    .withHint("run 'carrel doctor' to see what is missing"));
  }

  private static void removeLate(Volumes volumes, VolumeId id) {
    try {
      volumes.remove(id);
    } catch (RuntimeException e) {
      // The end of a thread that nobody waits for any more; the sweep finds the orphan.
      LOG.warn("volume {} came too late and could not be removed", id, e);
    }
  }
}
