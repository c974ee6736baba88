package dev.carrel.control.sandbox;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.store.Reserve;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of sandboxes' files at one moment, and sandboxes brought back to them. A copy that is not
 * finished is nobody's. Safe for many threads.
 */
public final class Snapshots {
  private static final Logger LOG = LoggerFactory.getLogger(Snapshots.class);
  private static final int MAX_NAME = 256;

  private final Sandboxes sandboxes;
  private final SnapshotStore store;
  private final VolumeStore volumeStore;
  private final WorkspaceVolumes volumes;
  private final Events events;
  private final SandboxJournal journal;
  private final long maxBytes;
  // Those that somebody is at; a row that is not finished and not here is nobody's.
  private final Set<SnapshotId> making = ConcurrentHashMap.newKeySet();

  Snapshots(
      Sandboxes sandboxes,
      SnapshotStore store,
      VolumeStore volumeStore,
      WorkspaceVolumes volumes,
      Events events,
      LifeSettings settings,
      SandboxJournal journal) {
    this.sandboxes = sandboxes;
    this.store = store;
    this.volumeStore = volumeStore;
    this.volumes = volumes;
    this.events = events;
    this.maxBytes = settings.maxVolumeMbPerTenant() << 20;
    this.journal = journal;
  }

  /**
   * Copies the files as they are now; whoever writes them waits meanwhile.
   *
   * @param name for people; null: none
   */
  public Snapshot create(Caller caller, SandboxId sandbox, @Nullable String name) {
    if (name != null && (name.isBlank() || name.length() > MAX_NAME)) {
      throw SandboxException.invalid("name", "must have 1 to " + MAX_NAME + " characters");
    }
    sandboxes.requireVisible(caller, sandbox);
    try (Turn _ = sandboxes.life().turn(sandbox)) {
      Sandbox row = sandboxes.get(caller, sandbox);
      var begun =
          new Snapshot(
              SnapshotId.random(),
              row.tenant(),
              sandbox,
              VolumeId.random(),
              row.engine(),
              row.image(),
              row.rootfs(),
              name,
              row.limits().disk(),
              0,
              Instant.now().truncatedTo(ChronoUnit.MILLIS));
      Sandbox.Volume volume = requireVolume(row);
      making.add(begun.id());
      try {
        store.begin(begun, maxBytes);
        return fill(caller, row, volume, begun);
      } finally {
        making.remove(begun.id());
      }
    }
  }

  private Snapshot fill(Caller caller, Sandbox row, Sandbox.Volume volume, Snapshot begun) {
    try {
      volumes.copy(row, volume.id(), begun.volume());
      Snapshot made = begun.withUsedBytes(volumes.usedBytes(row.engine(), begun.volume()));
      store.finish(made);
      tell(row, Event.SNAPSHOT_CREATED, made);
      journal.done(
          caller, row.tenant(), row.namespace(), row.id(), "snapshot.create", made.id().value());
      return made;
    } catch (RuntimeException e) {
      discardQuietly(begun);
      throw e;
    }
  }

  /** Of one sandbox, newest first. */
  public List<Snapshot> list(Caller caller, SandboxId sandbox) {
    sandboxes.requireVisible(caller, sandbox);
    return store.list(sandbox);
  }

  /** Of all sandboxes, also those that are gone, newest first. */
  public List<Snapshot> list(Caller caller) {
    return store.ofTenant(caller.role() == Caller.Role.ADMIN ? null : caller.tenant());
  }

  public Snapshot get(Caller caller, SnapshotId id) {
    return store
        .find(id)
        .filter(
            found -> caller.role() == Caller.Role.ADMIN || found.tenant().equals(caller.tenant()))
        .orElseThrow(
            () -> new SandboxException(ErrorCode.SNAPSHOT_NOT_FOUND, "there is no snapshot " + id));
  }

  public void delete(Caller caller, SnapshotId id) {
    Snapshot snapshot = get(caller, id);
    Reserve.forRemoval(
        () -> {
          discard(snapshot);
          journal.done(
              caller,
              snapshot.tenant(),
              Namespace.DEFAULT,
              snapshot.sandbox(),
              "snapshot.delete",
              id.value());
        });
  }

  /**
   * Gives a sandbox the files of a snapshot in place of its own. One that runs or is paused is
   * stopped for it and started again. What it had stays until the copy is complete. A volume with a
   * name is restored for all sandboxes that have it, unless another one uses it.
   */
  public Sandbox restore(Caller caller, SandboxId sandbox, SnapshotId id) {
    Snapshot snapshot = get(caller, id);
    sandboxes.requireVisible(caller, sandbox);
    Life life = sandboxes.life();
    try (Turn _ = life.turn(sandbox)) {
      Sandbox row = sandboxes.get(caller, sandbox);
      Sandbox.Volume old = requireVolume(row);
      requireAlike(row, snapshot);
      volumeStore.requireUnused(old.id(), sandbox);
      VolumeId fresh = VolumeId.random();
      volumeStore.createSpare(fresh, row, snapshot.size(), maxBytes);
      RunningSandbox live = life.find(sandbox);
      try {
        exchange(row, live, new Sandbox.Volume(fresh, old.name()), snapshot);
        volumes.remove(row.engine(), old.id());
        tell(row, Event.SANDBOX_RESTORED, snapshot);
        journal.done(caller, row.tenant(), row.namespace(), sandbox, "sandbox.restore", id.value());
        return live == null ? sandboxes.get(caller, sandbox) : life.start(sandbox, "restored");
      } finally {
        // It kept its name for the machine that was to come.
        if (live != null && life.find(sandbox) == null) {
          volumeStore.release(fresh, sandbox);
        }
      }
    }
  }

  /**
   * Puts a copy of the snapshot in place of what the sandbox has.
   *
   * @param live its machine, which ends only after the exchange: the name of a volume is never free
   *     meanwhile. Null: none
   */
  private void exchange(
      Sandbox before, @Nullable RunningSandbox live, Sandbox.Volume fresh, Snapshot snapshot) {
    Life life = sandboxes.life();
    Sandbox row = before;
    boolean stopped = false;
    try {
      volumes.copy(row, snapshot.volume(), fresh.id());
      if (live != null) {
        row = life.markStopped(live, Failures.restored());
        stopped = true;
      }
      swap(row, fresh, snapshot);
    } catch (RuntimeException e) {
      volumes.remove(row.engine(), fresh.id());
      throw e;
    } finally {
      if (live != null && stopped) {
        life.endStopped(live);
      }
    }
  }

  /** A new sandbox like this one, with the files that it has at this moment. */
  public Sandbox fork(Caller caller, SandboxId id) {
    sandboxes.requireVisible(caller, id);
    try (Turn _ = sandboxes.life().turn(id)) {
      Sandbox source = sandboxes.get(caller, id);
      return sandboxes.fork(caller, source, requireVolume(source));
    }
  }

  /** What it changed of its root; it may run on meanwhile, or not run at all. */
  public RootChanges changes(Caller caller, SandboxId id) {
    Sandbox row = sandboxes.get(caller, id);
    requireVolume(row);
    if (row.rootfs() != Rootfs.OVERLAY) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE, "sandbox " + id + " cannot change its root: there is nothing")
          .withHint("create it with rootfs overlay");
    }
    return new Changes(caller, row);
  }

  private final class Changes implements RootChanges {
    private final Caller caller;
    private final Sandbox row;

    Changes(Caller caller, Sandbox row) {
      this.caller = caller;
      this.row = row;
    }

    @Override
    public SandboxId sandbox() {
      return row.id();
    }

    @Override
    public String image() {
      return row.image();
    }

    @Override
    public @Nullable Instant startedAt() {
      return row.status().live() ? row.startedAt() : null;
    }

    @Override
    public DataSize size() {
      return row.limits().disk();
    }

    @Override
    public <T> T read(Volumes.ChangesReader<T> reader) throws IOException, InterruptedException {
      VolumeId copy = VolumeId.random();
      volumes.lend(copy);
      try {
        copy(copy);
        return volumes.readChanges(row.engine(), copy, reader);
      } finally {
        volumes.remove(row.engine(), copy);
        volumes.takeBack(copy);
      }
    }

    private void copy(VolumeId copy) {
      try (Turn _ = sandboxes.life().turn(row.id())) {
        Sandbox now = sandboxes.get(caller, row.id());
        volumeStore.createSpare(copy, now, now.limits().disk(), maxBytes);
        volumes.copy(now, requireVolume(now).id(), copy);
      }
    }
  }

  /** What was begun, by an earlier process too, and is neither finished nor being made. */
  void sweep() {
    store.disownUnfinished(id -> !making.contains(id));
  }

  private void swap(Sandbox row, Sandbox.Volume volume, Snapshot snapshot) {
    Limits limits = row.limits();
    Sandbox next =
        row.edit()
            .volume(volume)
            .limits(
                new Limits(
                    limits.memory(),
                    limits.cpus(),
                    limits.pids(),
                    snapshot.size(),
                    limits.openFiles()))
            .build();
    if (!sandboxes.store().swapVolume(row, next)) {
      throw Failures.notFound(row.id());
    }
  }

  /** What keeps it from that, a store that is held for one, may be what it failed of. */
  private void discardQuietly(Snapshot snapshot) {
    try {
      Reserve.forRemoval(() -> discard(snapshot));
    } catch (RuntimeException e) {
      LOG.warn("snapshot {} is left for the next sweep: {}", snapshot.id(), e.toString());
    }
  }

  private void discard(Snapshot snapshot) {
    store.disown(snapshot);
    volumes.remove(snapshot.engine(), snapshot.volume());
  }

  private void tell(Sandbox row, String kind, Snapshot snapshot) {
    events.tell(
        row.tenant(),
        row.namespace(),
        kind,
        row.id(),
        Map.of("snapshot_id", snapshot.id().value()));
  }

  /** Whether files of the one make sense in the other. */
  static void requireAlike(Sandbox row, Snapshot snapshot) {
    if (row.rootfs() != snapshot.rootfs()) {
      throw SandboxException.invalid(
          "snapshot_id",
          "%s is of a sandbox with rootfs %s, this one has %s"
              .formatted(snapshot.id(), snapshot.rootfs().wireName(), row.rootfs().wireName()));
    }
    if (row.rootfs() == Rootfs.OVERLAY && !row.image().equals(snapshot.image())) {
      throw SandboxException.invalid(
          "snapshot_id",
          "%s has changes of image %s, the sandbox is on %s"
              .formatted(snapshot.id(), snapshot.image(), row.image()));
    }
    if (!row.engine().equals(snapshot.engine())) {
      throw SandboxException.invalid(
          "snapshot_id",
          "%s is of engine %s, the sandbox of %s"
              .formatted(snapshot.id(), snapshot.engine(), row.engine()));
    }
  }

  private static Sandbox.Volume requireVolume(Sandbox row) {
    Sandbox.Volume volume = row.volume();
    if (volume == null) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "the files of sandbox " + row.id() + " are in memory and cannot be copied")
          .withHint("create it without ephemeral, on an engine with volumes");
    }
    return volume;
  }
}
