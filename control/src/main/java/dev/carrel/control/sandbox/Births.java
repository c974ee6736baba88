package dev.carrel.control.sandbox;

import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.SandboxStore.Reservation;
import dev.carrel.control.sandbox.Turns.Turn;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.egress.Policy;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import dev.carrel.spi.VolumeId;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How sandboxes come into being: with nothing in them, from a box that was made ahead, from a
 * snapshot, or from another sandbox.
 */
final class Births {
  private static final int ATTEMPTS = 5;
  private static final Caller NOBODY = Caller.user("nobody", "pool");

  private final Supplier<SandboxSettings> settings;
  private final SandboxRules rules;
  private final Engines engines;
  private final Room room;
  private final SandboxStore store;
  private final WorkspaceVolumes volumes;
  private final WayOut wayOut;
  private final Life life;
  private final Snapshots snapshots;
  private final WarmPools pools;
  private final Events events;
  private final Unshared unshared;

  Births(
      Supplier<SandboxSettings> settings,
      SandboxRules rules,
      Engines engines,
      Room room,
      SandboxStore store,
      WorkspaceVolumes volumes,
      WayOut wayOut,
      Life life,
      Snapshots snapshots,
      PoolSettings poolSettings,
      Telemetry telemetry,
      Events events,
      Unshared unshared) {
    this.settings = settings;
    this.rules = rules;
    this.engines = engines;
    this.room = room;
    this.store = store;
    this.volumes = volumes;
    this.wayOut = wayOut;
    this.life = life;
    this.snapshots = snapshots;
    this.events = events;
    this.unshared = unshared;
    this.pools = new WarmPools(poolSettings, new Boxes(), telemetry);
  }

  WarmPools pools() {
    return pools;
  }

  /** As {@link Sandboxes#obtain}. */
  Sandboxes.Obtained obtain(
      Caller caller, CreateSandbox request, Function<SandboxId, Runnable> about) {
    Policy network = wayOut.settle(request.network(), Policy.NOTHING);
    life.requested(caller, request);
    Engine engine = engines.choose(request.engine(), request.isolation());
    SnapshotId from = request.storage().snapshot();
    Snapshot snapshot = from == null ? null : snapshots.get(caller, from);
    boolean suitsPool = suitsPool(request);
    for (int attempt = 1; ; attempt++) {
      boolean isThere = isThere(caller, request.sessionKey());
      boolean takesBox =
          suitsPool
              && !isThere
              && (about.equals(Sandboxes.NOTHING_TO_NOTE) || hasRoom(caller, request));
      WarmPool.Box claimed = takesBox ? claim(request, engine) : null;
      RunningSandbox box = claimed == null ? null : claimed.sandbox();
      CompletableFuture<Boolean> answers = box == null ? null : WarmPools.ask(box);
      Runnable undo = Sandboxes.NOTHING_NOTED;
      try {
        Sandbox row = row(caller, request, network, engine, box, snapshot);
        try (Turn _ = life.turn(row.id())) {
          undo = about.apply(row.id());
          switch (reserve(row, undo)) {
            case Reservation.Made(Sandbox made) -> {
              claimed = null;
              events.tell(
                  made.tenant(), made.namespace(), Event.SANDBOX_CREATED, made.id(), Map.of());
              Sandbox launched =
                  box == null || answers == null
                      ? cold(made, suitsPool, snapshot)
                      : warm(made, box, answers);
              return new Sandboxes.Obtained(launched, true);
            }
            case Reservation.Full _, Reservation.Moved _ ->
                throw new IllegalStateException("a new row cannot move");
            case Reservation.Existing(Sandbox existing) -> {
              Namespace.requireSame(existing, request.namespace());
              // First: whoever made it may be about to take it back.
              unshared.remove(existing.id());
              try {
                return new Sandboxes.Obtained(comeBack(existing.id()), false);
              } catch (SandboxException e) {
                // Deleted while we came, or over with its files: then the key is free again.
                boolean free =
                    e.code() == ErrorCode.SANDBOX_NOT_FOUND || e.code() == ErrorCode.SANDBOX_GONE;
                if (!free || attempt == ATTEMPTS) {
                  throw e;
                }
              }
            }
          }
        }
      } finally {
        if (claimed != null && undo.equals(Sandboxes.NOTHING_NOTED)) {
          pools.giveBack(claimed);
        } else if (claimed != null) {
          // What was noted of its id must not become part of another's history.
          pools.discardLater(claimed.sandbox());
        }
      }
    }
  }

  /** Who comes by a session key may not know what happened in its sandbox. */
  private Sandbox comeBack(SandboxId id) {
    try (Turn _ = life.turn(id)) {
      if (life.find(id) == null) {
        store.settled(id).ifPresent(Failures::requireNotHeld);
      }
      return life.start(id, "session_key");
    }
  }

  /**
   * Takes a place for a new one.
   *
   * @param undo for when it does not come to be; before its box can be another's
   */
  private Reservation reserve(Sandbox row, Runnable undo) {
    boolean made = false;
    unshared.add(row.id());
    try {
      Reservation reservation = room.take(row.tenant(), limit -> store.reserve(row, limit));
      made = reservation instanceof Reservation.Made;
      return reservation;
    } finally {
      if (!made) {
        unshared.remove(row.id());
        undo.run();
      }
    }
  }

  /** A new one like {@code source}; the caller has that one's turn. */
  Sandbox fork(Caller caller, Sandbox source, Sandbox.Volume files) {
    Instant now = life.now();
    var row =
        new Sandbox(
            SandboxId.random(),
            source.tenant(),
            caller.principal(),
            source.namespace(),
            SandboxStatus.CREATING,
            1,
            source.image(),
            source.engine(),
            source.runtime(),
            null,
            source.limits(),
            source.expiry(),
            source.network(),
            source.isolated(),
            source.rootfs(),
            source.envVars(),
            source.metadata(),
            null,
            source.secrets(),
            null,
            new Sandbox.Volume(VolumeId.random(), null),
            now,
            now,
            null,
            null,
            Sandbox.Counters.ZERO,
            null);
    try (Turn _ = life.turn(row.id())) {
      return switch (room.take(row.tenant(), limit -> store.reserve(row, limit))) {
        case Reservation.Made(Sandbox made) -> {
          events.tell(
              made.tenant(),
              made.namespace(),
              Event.SANDBOX_CREATED,
              made.id(),
              Map.of("forked_from", source.id().value()));
          yield life.launch(made, "forked", () -> copy(made, files.id()));
        }
        case Reservation.Existing _, Reservation.Full _, Reservation.Moved _ ->
            throw new IllegalStateException("a new row cannot move");
      };
    }
  }

  /**
   * A sandbox that is to be.
   *
   * @param box what it is made of, or null
   * @param snapshot what it begins with, or null
   */
  private Sandbox row(
      Caller caller,
      CreateSandbox request,
      Policy network,
      Engine engine,
      @Nullable RunningSandbox box,
      @Nullable Snapshot snapshot) {
    Instant now = life.now();
    CreateSandbox.Storage storage = request.storage();
    if (storage.volume() != null || snapshot != null) {
      NamedVolumes.requireVolumes(engine);
    }
    Rootfs rootfs = rootfs(storage, snapshot);
    boolean persistent = !Boolean.TRUE.equals(storage.ephemeral()) && engine.volumes().isPresent();
    Sandbox.Volume fresh =
        persistent ? new Sandbox.Volume(VolumeId.random(), storage.volume()) : null;
    var row =
        new Sandbox(
            box == null ? SandboxId.random() : box.id(),
            caller.tenant(),
            caller.principal(),
            Namespace.of(request.namespace()),
            SandboxStatus.CREATING,
            1,
            rules.image(image(request, rootfs, snapshot)),
            engine.name(),
            engine.capabilities().runtime(),
            null,
            rules.limits(request.size(), snapshot),
            rules.expiry(request.expiry(), persistent),
            network,
            Boolean.TRUE.equals(request.isolated()),
            rootfs,
            SandboxRules.environment(request.envVars()),
            SandboxRules.metadata(request.metadata()),
            SandboxRules.sessionKey(request.sessionKey()),
            request.secrets(),
            null,
            box == null ? fresh : box.row().volume(),
            now,
            now,
            null,
            null,
            Sandbox.Counters.ZERO,
            null);
    if (snapshot != null) {
      Snapshots.requireAlike(row, snapshot);
    }
    if (rootfs == Rootfs.OVERLAY) {
      requireOverlay(engine, row.image());
    }
    return row;
  }

  private static Rootfs rootfs(CreateSandbox.Storage storage, @Nullable Snapshot snapshot) {
    if (storage.rootfs() != null) {
      return storage.rootfs();
    }
    return snapshot == null ? Rootfs.READ_ONLY : snapshot.rootfs();
  }

  /** What was changed of a root belongs on the image that it was changed of. */
  private static @Nullable String image(
      CreateSandbox request, Rootfs rootfs, @Nullable Snapshot snapshot) {
    if (request.image() == null && snapshot != null && rootfs == Rootfs.OVERLAY) {
      return snapshot.image();
    }
    return request.image();
  }

  private static void requireOverlay(Engine engine, String image) {
    if (image.equals(SandboxSettings.HOST_IMAGE)) {
      throw SandboxException.invalid(
          "rootfs",
          "overlay needs an image of its own: build, pull or import one and name it as image");
    }
    engine
        .overlayProblem()
        .ifPresent(
            problem -> {
              throw new SandboxException(ErrorCode.NOT_SUPPORTED, "rootfs overlay: " + problem)
                  .withHint("run 'carrel doctor' to see which engines can");
            });
  }

  /** Whether a box made with the defaults can become this: its disk cannot change any more. */
  private boolean suitsPool(CreateSandbox request) {
    CreateSandbox.Storage storage = request.storage();
    return !Boolean.TRUE.equals(storage.ephemeral())
        && !Boolean.TRUE.equals(request.isolated())
        && storage.rootfs() != Rootfs.OVERLAY
        && storage.volume() == null
        && storage.snapshot() == null
        && (request.size().diskMb() == null || request.size().diskMb() == settings.get().diskMb());
  }

  /** Whether no box is needed; that a key is free is decided when a place is taken. */
  private boolean isThere(Caller caller, @Nullable String sessionKey) {
    return sessionKey != null && store.findByKey(caller.tenant(), sessionKey).isPresent();
  }

  /**
   * Whether it may take a box that could not be given back, as far as can be told: who is refused
   * again and again must not empty the pool for others. A place is taken only later.
   */
  private boolean hasRoom(Caller caller, CreateSandbox request) {
    DataSize disk = rules.limits(request.size(), null).disk();
    return room.isLeft(
        caller.tenant(),
        (limit, makesRoom) -> store.hasRoom(caller.tenant(), disk, limit, makesRoom));
  }

  private WarmPool.@Nullable Box claim(CreateSandbox request, Engine engine) {
    Limits usual = rules.limits(CreateSandbox.defaults().size(), null);
    boolean isUsual = rules.limits(request.size(), null).equals(usual);
    return pools.claim(engine.name(), rules.image(request.image()), isUsual).orElse(null);
  }

  private Sandbox warm(Sandbox row, RunningSandbox box, CompletableFuture<Boolean> answers) {
    try {
      return life.launch(row, box, answers, "created");
    } finally {
      if (answers.getNow(false) && box.row().status() == SandboxStatus.CREATING) {
        pools.wasRigid(box);
      }
      pools.settled(box);
    }
  }

  private Sandbox cold(Sandbox row, boolean suitsPool, @Nullable Snapshot snapshot) {
    if (snapshot != null) {
      return life.launch(row, "created", () -> copy(row, snapshot.volume()));
    }
    long begin = System.nanoTime();
    Sandbox made = life.launch(row, "created");
    if (suitsPool) {
      pools.startTook(row.engine(), row.image(), Duration.ofNanos(System.nanoTime() - begin));
    }
    return made;
  }

  private void copy(Sandbox made, VolumeId from) {
    Sandbox.Volume volume = made.volume();
    if (volume != null) {
      volumes.copy(made, from, volume.id());
    }
  }

  /** Boxes with everything by default, of nobody. */
  private final class Boxes implements WarmPools.Maker {
    @Override
    public String engine(PoolSettings.Pool pool) {
      rules.image(pool.image());
      return engines.choose(pool.engine(), null).name();
    }

    @Override
    public RunningSandbox make(PoolSettings.Pool pool, Consumer<VolumeId> volume) {
      Engine engine = engines.choose(pool.engine(), null);
      CreateSandbox request = CreateSandbox.defaults().withImage(pool.image());
      Sandbox row = row(NOBODY, request, Policy.NOTHING, engine, null, null);
      if (row.volume() != null) {
        volume.accept(row.volume().id());
      }
      try {
        return life.box(row);
      } catch (SandboxException e) {
        volumes.drop(row);
        throw e;
      }
    }

    @Override
    public void discard(RunningSandbox box) {
      life.discard(box);
    }
  }
}
