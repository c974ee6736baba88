package dev.carrel.engine.oci;

import dev.carrel.engine.host.Complaint;
import dev.carrel.engine.host.FreshFolder;
import dev.carrel.engine.host.GuestSocket;
import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.ImageVolumes;
import dev.carrel.engine.host.Inspection;
import dev.carrel.engine.host.MachineState;
import dev.carrel.engine.host.Measures;
import dev.carrel.engine.host.Settled;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Sandboxes made by an OCI runtime, without a daemon. Each has a companion process that outlives
 * this server and knows how the sandbox ended; what there is stands in its folder.
 */
final class OciEngine implements Engine {
  private static final Duration START = Duration.ofSeconds(60);
  private static final int MAX_SOCKET_PATH = 107;
  private static final System.Logger LOG = System.getLogger(OciEngine.class.getName());

  private final OciRuntime runtime;
  private final EngineSettings settings;
  private final Path runDirectory;
  private final Path volumeDirectory;
  private final Path libDirectory;
  private final Set<String> allowMissing;
  private final Companion companion;
  private final Remains remains;
  private final Probe probe;
  private final OverlayProbe overlay = new OverlayProbe();
  private final Set<SandboxId> known = ConcurrentHashMap.newKeySet();
  // Of starts that failed and could not be cleaned up after.
  private final Set<SandboxId> unswept = ConcurrentHashMap.newKeySet();
  private final ReentrantLock probing = new ReentrantLock();
  private @Nullable Capabilities capabilities;

  /** Whether machines load what makes up for an old gVisor; the first one, a probe, tells. */
  private volatile boolean preloads;

  OciEngine(OciRuntime runtime, EngineSettings settings) {
    this.runtime = runtime;
    this.settings = settings;
    this.runDirectory = settings.runDirectory().toAbsolutePath().normalize();
    this.volumeDirectory = settings.volumeDirectory().toAbsolutePath().normalize();
    this.allowMissing = settings.allowMissing();
    this.libDirectory = settings.libDirectory().toAbsolutePath().normalize();
    this.companion = new Companion(runtime, runDirectory, libDirectory, volumeDirectory);
    this.remains = new Remains(companion);
    this.probe = new Probe(runtime, libDirectory.resolve("guest"), allowMissing);
  }

  @Override
  public String name() {
    return runtime.engineName();
  }

  @Override
  public Capabilities capabilities() {
    probing.lock();
    try {
      Capabilities measured = capabilities;
      if (measured == null) {
        measured =
            probe.look(
                spec -> start(SandboxId.random(), spec, Set.of(Probe.ANYTHING)),
                () -> runtime == OciRuntime.RUNSC ? Gvisor.notes(preloads) : List.of());
        capabilities = measured;
      }
      return measured;
    } finally {
      probing.unlock();
    }
  }

  @Override
  public Machine start(SandboxId id, MachineSpec spec) {
    if (spec.volume() != null && !HostProcess.isRoot()) {
      throw new SandboxException(ErrorCode.NOT_SUPPORTED, "start, volume: " + Probe.NO_VOLUMES);
    }
    if (spec.rootfs() == Rootfs.OVERLAY && spec.volume() == null) {
      throw new SandboxException(
          ErrorCode.NOT_SUPPORTED, "start, rootfs: a writable root needs a volume");
    }
    var excused = new TreeSet<>(allowMissing);
    excused.addAll(runtime.neverHas());
    if (spec.rootfs() == Rootfs.OVERLAY) {
      excused.addAll(Measures.OVERLAY_LACKS);
    }
    if (runtime == OciRuntime.RUNSC) {
      capabilities();
    }
    return start(id, spec, excused);
  }

  @Override
  public Optional<String> overlayProblem() {
    Capabilities measured = capabilities();
    Optional<Volumes> volumes = volumes();
    return measured.usable() && volumes.isPresent()
        ? overlay.problem(libDirectory, volumes.get(), spec -> start(SandboxId.random(), spec))
        : Optional.of(
            measured.usable()
                ? "a writable root is kept in a volume: " + Probe.NO_VOLUMES
                : String.join("; ", measured.problems()));
  }

  private OciMachine start(SandboxId id, MachineSpec spec, Set<String> excused) {
    MachineFolder folder = MachineFolder.in(runtime, runDirectory, id);
    requireShort(folder.socket());
    boolean fresh = known.add(id);
    try {
      if (unswept.contains(id)) {
        remains.sweep(folder);
        unswept.remove(id);
      }
      Files.createDirectories(runDirectory, MachineFolder.OURS);
      folder.make(unnumbered(spec, OptionalInt.empty()));
    } catch (IOException e) {
      if (fresh) {
        known.remove(id);
      }
      throw failed("folder", "cannot make " + folder.path() + ": " + e, e);
    }
    try {
      return launch(folder, spec, excused);
    } catch (IOException | RuntimeException e) {
      undo(folder, e);
      throw e instanceof SandboxException said ? said : failed("machine", String.valueOf(e), e);
    }
  }

  private OciMachine launch(MachineFolder folder, MachineSpec spec, Set<String> excused)
      throws IOException {
    Limits limits = Settled.limits(spec);
    IdMap ids = IdMap.claim(runtime, folder, libDirectory.resolve("guest"));
    OptionalInt base = ids.base();
    MachineState state = unnumbered(spec, base);
    folder.write(state);
    Stage stage = Stage.of(folder, spec, preloads, libDirectory);
    folder.show();
    Path guestFolder = Files.createDirectory(folder.path().resolve("guest"), MachineFolder.OURS);
    if (base.isPresent()) {
      Files.setAttribute(guestFolder, "unix:uid", base.getAsInt());
      Files.setAttribute(guestFolder, "unix:gid", base.getAsInt());
    }
    Path egress = spec.egressSocket() == null ? null : spec.egressSocket().toAbsolutePath();
    var bundle =
        new Bundle(
            runtime,
            folder.id(),
            stage.binds(),
            limits,
            ids,
            egress == null ? null : String.valueOf(egress.getFileName()),
            spec.volume() != null,
            spec.rootfs(),
            guestMayLack(excused));
    Files.writeString(folder.path().resolve("config.json"), bundle.json());
    companion.run(folder, state, ids, stage, egress == null ? null : egress.getParent());
    HostProcess first =
        folder
            .writtenPid()
            .orElseThrow(() -> failed("guest", "it ended at once: " + folder.tail(), null));
    awaitAnswer(folder, first);
    return measured(folder, state, ids, first, spec.rootfs(), excused);
  }

  /** Of a machine whose first process there is not yet. */
  private static MachineState unnumbered(MachineSpec spec, OptionalInt base) throws IOException {
    return new MachineState(Settled.limits(spec), base, spec.volume(), Optional.empty(), List.of());
  }

  /** A probe sees what is missing instead of failing at the first thing. */
  private static Set<String> guestMayLack(Set<String> excused) {
    return excused.contains(Probe.ANYTHING)
        ? Set.of("landlock", "seccomp", "no-capabilities", "no-new-privileges")
        : excused;
  }

  private OciMachine measured(
      MachineFolder folder,
      MachineState state,
      IdMap ids,
      HostProcess first,
      Rootfs rootfs,
      Set<String> excused)
      throws IOException {
    Limits limits =
        state.volume() == null
            ? state.limits()
            : Settled.withDisk(state.limits(), folder.volumeSize());
    remains.group(folder.id()).limitBuffers(limits.memory().bytes());
    Isolation isolation = inspect(folder, ids, first, limits, state.volume(), rootfs);
    List<Isolation.Measure> missing = Measures.unexcused(isolation, excused);
    if (!missing.isEmpty() && !excused.contains(Probe.ANYTHING)) {
      Isolation.Measure lacking = missing.getFirst();
      throw new SandboxException(
              ErrorCode.ISOLATION_NOT_AVAILABLE,
              "start, " + lacking.name() + ": cannot be applied: " + lacking.detail())
          .withHint("mend it on the host, or accept its absence with native.allow-missing");
    }
    var recorded =
        new MachineState(
            limits, state.base(), state.volume(), Optional.of(first), isolation.measures());
    folder.write(recorded);
    return new OciMachine(folder, recorded, remains, known::remove);
  }

  private Isolation inspect(
      MachineFolder folder,
      IdMap ids,
      HostProcess first,
      Limits limits,
      @Nullable VolumeId volume,
      Rootfs rootfs)
      throws IOException {
    var measures = new Measures();
    var group = remains.group(folder.id());
    List<String> report = Files.readAllLines(folder.report());
    var inspection = new Inspection(first.pid());
    inspection.namespaces(measures);
    Inspection.limits(measures, group, limits);
    if (runtime == OciRuntime.RUNSC) {
      Gvisor.requireOtherKernel(report);
      preloads = Gvisor.refusesNoAutomount(report);
      long temporary = Settled.temporary(limits, volume != null);
      Gvisor.describe(measures, group, limits.disk().bytes(), temporary);
      if (rootfs == Rootfs.OVERLAY) {
        measures.missing("read-only-root", Measures.OVERLAY);
      }
      measures.applied("nofile-limit", limits.openFiles() + " descriptors a process");
    } else {
      inspection.ids(measures, rootfs).files(measures, rootfs);
      inspection.openFiles(measures, limits.openFiles());
    }
    if (!HostProcess.isRoot()) {
      withoutRoot(measures, ids, limits);
    }
    measures.report(report);
    if (runtime != OciRuntime.RUNSC) {
      inspection.claims(measures);
    }
    if (volume != null) {
      String detail = "ext4 of its own, " + limits.disk().bytes() + " bytes with its journal";
      measures.applied(Measures.VOLUME, detail).applied("workspace-limit", detail);
    } else {
      measures.missing(
          Measures.VOLUME,
          HostProcess.isRoot()
              ? "none was asked for: files end with the machine"
              : Probe.NO_VOLUMES);
    }
    return measures.as(runtime.strength());
  }

  /** Why a machine of an ordinary user's server lacks what it lacks. */
  private static void withoutRoot(Measures measures, IdMap ids, Limits limits) {
    String groups = "the server is not root, so that the runtime makes no control group";
    measures
        .missing("memory-limit", groups)
        .missing("cpu-limit", groups)
        .missing("freezer", groups)
        .missing(
            "pids-limit",
            "%s; each user of the sandbox may have %d processes and threads"
                .formatted(groups, limits.pids()));
    switch (ids.kind()) {
      case RANGE, SLICE -> {}
      case ONE ->
          measures.missing("uid-range", ids.reason()).missing("own-guest-uid", ids.reason());
      case NONE ->
          measures.missing(
              "uid-range",
              "gVisor's own ids; its kernel and file server are the server's own user on the host");
    }
  }

  private static void awaitAnswer(MachineFolder folder, HostProcess first) throws IOException {
    long end = System.nanoTime() + START.toNanos();
    IOException last = new IOException("it never answered");
    while (System.nanoTime() - end < 0) {
      if (folder.end().isPresent() || !first.alive()) {
        throw Complaint.of("the guest ended: " + folder.tail());
      }
      try {
        if (GuestSocket.answers(folder.socket())) {
          return;
        }
      } catch (IOException e) {
        last = e; // it does not listen yet
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
    }
    throw last;
  }

  private void undo(MachineFolder folder, Exception failure) {
    try {
      remains.sweep(folder);
      known.remove(folder.id());
    } catch (IOException e) {
      unswept.add(folder.id());
      failure.addSuppressed(e);
    }
  }

  @Override
  public Optional<Volumes> volumes() {
    return probe.keepsVolumes()
        ? Optional.of(new ImageVolumes(settings, this::copyVolume))
        : Optional.empty();
  }

  /** At one moment of whoever has it. */
  private void copyVolume(VolumeId from, VolumeId to) throws IOException {
    if (Files.notExists(volumeDirectory.resolve(from.value() + ".img"))) {
      throw new SandboxException(ErrorCode.VOLUME_NOT_FOUND, "copy volume: no volume " + from);
    }
    Optional<MachineFolder> user = userOf(from);
    if (user.isEmpty()) {
      companion.copyVolume(from.value(), to.value(), Optional.empty());
      return;
    }
    var group = remains.group(user.get().id());
    boolean before = group.frozen();
    group.freeze();
    try {
      companion.copyVolume(from.value(), to.value(), companionOf(user.get().id()));
    } finally {
      if (!before) {
        group.thaw();
      }
    }
  }

  private Optional<MachineFolder> userOf(VolumeId volume) throws IOException {
    for (MachineFolder folder : folders()) {
      if (uses(folder, volume)) {
        return Optional.of(folder);
      }
    }
    return Optional.empty();
  }

  private static boolean uses(MachineFolder folder, VolumeId volume) throws IOException {
    try {
      return volume.equals(folder.read().volume()) && folder.end().isEmpty();
    } catch (NoSuchFileException e) {
      return false; // removed since it was listed
    }
  }

  /** The process in whose view the machine's volume is mounted. */
  private static Optional<Long> companionOf(SandboxId id) throws IOException {
    List<HostProcess> companions = Companion.processes(id, Set.of("run"));
    if (companions.isEmpty()) {
      throw new IOException(
          "nobody accompanies " + id + " any more; stop it before its volume is copied");
    }
    return Optional.of(companions.getFirst().pid());
  }

  @Override
  public List<Machine> recover() {
    var found = new ArrayList<Machine>();
    try {
      FreshFolder.sweep(runDirectory, name(), known::contains);
      for (MachineFolder folder : folders()) {
        if (!known.contains(folder.id())) {
          recover(folder).ifPresent(found::add);
        }
      }
    } catch (IOException e) {
      throw failed("recovery", "cannot read " + runDirectory + ": " + e, e);
    }
    return found;
  }

  /** One that cannot be recovered is no reason to have none of the others. */
  private Optional<Machine> recover(MachineFolder folder) {
    try {
      Optional<MachineState> state = folder.state();
      String argument = folder.id().value();
      if (state.flatMap(MachineState::first).filter(first -> first.runsWith(argument)).isPresent()
          && folder.end().isEmpty()) {
        Machine machine = new OciMachine(folder, state.get(), remains, known::remove);
        known.add(folder.id());
        return Optional.of(machine);
      }
      remains.sweep(folder);
    } catch (IOException | RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot recover " + folder.path(), e);
    }
    return Optional.empty();
  }

  private List<MachineFolder> folders() throws IOException {
    if (!Files.isDirectory(runDirectory)) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(runDirectory)) {
      return paths.flatMap(path -> MachineFolder.recognise(runtime, path).stream()).toList();
    }
  }

  @Override
  public void close() {}

  private static void requireShort(Path socket) {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > MAX_SOCKET_PATH) {
      throw failed("socket", "the path " + socket + " is too long for a socket", null)
          .withHint("choose a run directory with a shorter name");
    }
  }

  private static SandboxException failed(String step, String why, @Nullable Throwable cause) {
    String message = "start, " + step + ": " + why;
    return cause == null
        ? new SandboxException(ErrorCode.ENGINE_FAILED, message)
        : new SandboxException(ErrorCode.ENGINE_FAILED, message, cause);
  }
}
