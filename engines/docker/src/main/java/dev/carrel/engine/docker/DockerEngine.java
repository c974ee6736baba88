package dev.carrel.engine.docker;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.engine.host.Complaint;
import dev.carrel.engine.host.ControlGroup;
import dev.carrel.engine.host.FreshFolder;
import dev.carrel.engine.host.GuestSocket;
import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.Hierarchies;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.IdRanges;
import dev.carrel.engine.host.ImageVolumes;
import dev.carrel.engine.host.Inspection;
import dev.carrel.engine.host.MachineState;
import dev.carrel.engine.host.Measures;
import dev.carrel.engine.host.RootTree;
import dev.carrel.engine.host.Settled;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.DataSize;
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
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Sandboxes that a daemon of this host makes. Containers carry labels, and what there is to know of
 * a machine stands in its folder: the next server needs the daemon only to remove what is dead.
 */
final class DockerEngine implements Engine {
  private static final System.Logger LOG = System.getLogger(DockerEngine.class.getName());
  private static final Duration START = Duration.ofSeconds(60);
  private static final int MAX_SOCKET_PATH = 107;

  /** What every machine needs of its engine. */
  record Collaborators(Daemon daemon, Remains remains, Ends ends, Consumer<SandboxId> gone) {}

  private final Kind kind;
  private final EngineSettings settings;
  private final Path runDirectory;
  private final Path volumeDirectory;
  private final Path lib;
  private final Set<String> allowMissing;
  private final Daemon daemon;
  private final RootImages images;
  private final Remains remains;
  private final Ends ends;
  private final Probe probe;
  private final GuestProgram guestProgram;
  private final Hierarchies hierarchies = Hierarchies.ofThisHost();
  private final Map<String, String> labels;
  private final Set<SandboxId> known = ConcurrentHashMap.newKeySet();
  // Of starts that failed when the daemon was not there to clean up after them.
  private final Set<SandboxId> unswept = ConcurrentHashMap.newKeySet();
  private final Measured capabilities;

  /** Whether machines load what makes up for an old gVisor; the first one, a probe, tells. */
  private volatile boolean preloads;

  DockerEngine(Kind kind, EngineSettings settings) {
    this(kind, settings, null);
  }

  /**
   * @param measured what another engine has found out of the same daemon; null: to be found out
   */
  DockerEngine(Kind kind, EngineSettings settings, @Nullable Capabilities measured) {
    this.capabilities = new Measured(measured);
    this.preloads = measured != null && Gvisor.preloads(measured);
    this.kind = kind;
    this.settings = settings;
    this.runDirectory = settings.runDirectory().toAbsolutePath().normalize();
    this.volumeDirectory = settings.volumeDirectory().toAbsolutePath().normalize();
    this.lib = settings.libDirectory().toAbsolutePath().normalize();
    this.allowMissing = settings.allowMissing();
    this.daemon = Daemon.of(settings.daemon());
    this.images = new RootImages(daemon);
    this.remains = new Remains(daemon, volumeDirectory, hierarchies);
    this.labels = Labels.ofServer(kind, runDirectory);
    this.ends = new Ends(daemon, labels);
    Path program = lib.resolve("guest");
    this.probe = new Probe(kind, daemon, program, allowMissing);
    this.guestProgram = new GuestProgram(program, volumeDirectory);
  }

  @Override
  public String name() {
    return kind.engineName();
  }

  /** What was found out; a daemon that could not be asked is asked again. */
  @Override
  public Capabilities capabilities() {
    return capabilities.now(
        () ->
            probe.look(
                spec -> start(SandboxId.random(), spec, Set.of(Probe.ANYTHING)),
                () -> kind == Kind.GVISOR ? Gvisor.notes(preloads) : List.of()));
  }

  @Override
  public Machine start(SandboxId id, MachineSpec spec) {
    spec.requireReadOnlyRoot(this);
    var excused = new TreeSet<>(allowMissing);
    excused.addAll(kind.neverHas());
    if (kind == Kind.GVISOR) {
      capabilities(); // whose probe tells what this gVisor needs
    }
    return start(id, spec, excused);
  }

  private Machine start(SandboxId id, MachineSpec spec, Set<String> excused) {
    if (spec.volume() != null && !kind.keepsVolumes()) {
      throw new SandboxException(
              ErrorCode.NOT_SUPPORTED,
              "start, volume: no mount gets into a sandbox that gVisor runs under a daemon")
          .withHint("the engine runsc, which needs no daemon, keeps volumes under gVisor");
    }
    MachineFolder folder = MachineFolder.in(kind, runDirectory, id);
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
      throw e instanceof SandboxException said ? said : failed("container", e.getMessage(), e);
    }
  }

  private Machine launch(MachineFolder folder, MachineSpec spec, Set<String> excused)
      throws IOException {
    OptionalInt base =
        kind.mapsIds() ? OptionalInt.of(IdRanges.claim(folder.path())) : OptionalInt.empty();
    Limits limits = Settled.limits(spec);
    MachineState state = unnumbered(spec, base);
    folder.write(state);
    ends.listen();
    RootTree root = RootTree.make(folder.root(), folder.id(), spec.image());
    EtcFiles etc = EtcFiles.make(folder, root, preloads);
    Path guestFolder = Files.createDirectory(folder.path().resolve("guest"), MachineFolder.OURS);
    if (base.isPresent()) {
      Files.setAttribute(guestFolder, "unix:uid", base.getAsInt());
      Files.setAttribute(guestFolder, "unix:gid", base.getAsInt());
    }
    create(folder, request(folder, spec, state, root, etc, excused), root);
    daemon.start(folder.container());
    HostProcess first = firstProcess(folder);
    var running = new MachineState(limits, base, spec.volume(), Optional.of(first), List.of());
    folder.write(running);
    if (spec.volume() != null) {
      running = running.with(place(folder, running, first));
    }
    awaitAnswer(folder, first);
    return measured(folder, running, first, excused);
  }

  private ContainerRequest request(
      MachineFolder folder,
      MachineSpec spec,
      MachineState state,
      RootTree root,
      EtcFiles etc,
      Set<String> excused)
      throws IOException {
    String runtime =
        kind.runtime(daemon.info())
            .orElseThrow(() -> failed("runtime", "the daemon has none of this kind", null));
    return new ContainerRequest(
        folder,
        runtime,
        images.of(root.skeleton()),
        root,
        etc,
        lib,
        state.limits(),
        state.base().isPresent() ? state.base().getAsInt() : null,
        spec.egressSocket() == null ? null : spec.egressSocket().toAbsolutePath(),
        spec.volume() != null,
        daemon.version().compareTo(Daemon.NEWEST) >= 0,
        Labels.ofMachine(kind, runDirectory, folder.id()),
        guestMayLack(excused));
  }

  /** Once more where somebody removed the image that was there. */
  private void create(MachineFolder folder, ContainerRequest request, RootTree root)
      throws IOException {
    try {
      daemon.create(folder.container(), request.json());
    } catch (DaemonException e) {
      if (!e.isNotFound()) {
        throw e;
      }
      images.forget(request.image());
      images.of(root.skeleton());
      daemon.create(folder.container(), request.json());
    }
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

  private HostProcess firstProcess(MachineFolder folder) throws IOException {
    JsonNode state = daemon.state(folder.container());
    long pid = state.path("Pid").asLong();
    if (pid == 0) {
      throw Complaint.of("the guest ended at once: " + daemon.tail(folder.container()));
    }
    return HostProcess.find(pid)
        .orElseThrow(
            () ->
                failed("guest", "process " + pid + " of the daemon is none of this host's", null));
  }

  /** The guest waits while the volume is put where it will confine itself to. */
  private Limits place(MachineFolder folder, MachineState state, HostProcess first)
      throws IOException {
    VolumeId volume = state.volume();
    if (volume == null || state.base().isEmpty()) {
      return state.limits();
    }
    try (SocketChannel _ = connect(folder, first)) {
      DataSize size =
          guestProgram.place(volume, state.limits().disk(), first.pid(), state.base().getAsInt());
      folder.noteVolume();
      return Settled.withDisk(state.limits(), size);
    }
  }

  private Machine measured(
      MachineFolder folder, MachineState state, HostProcess first, Set<String> excused)
      throws IOException {
    ControlGroup group = hierarchies.groupOf(first.pid());
    group.limitBuffers(state.limits().memory().bytes());
    Isolation isolation = inspect(folder, first, group, state);
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
            state.limits(), state.base(), state.volume(), Optional.of(first), isolation.measures());
    folder.write(recorded);
    return new DockerMachine(folder, recorded, first, group, collaborators());
  }

  private Collaborators collaborators() {
    return new Collaborators(daemon, remains, ends, known::remove);
  }

  private Isolation inspect(
      MachineFolder folder, HostProcess first, ControlGroup group, MachineState state)
      throws IOException {
    Limits limits = state.limits();
    var measures = new Measures();
    List<String> report = Files.readAllLines(folder.report());
    var inspection = new Inspection(first.pid());
    inspection.namespaces(measures);
    Inspection.limits(measures, group, limits);
    if (kind == Kind.GVISOR) {
      Gvisor.requireOtherKernel(report);
      preloads = Gvisor.refusesNoAutomount(report);
      long temporary = Settled.temporary(limits, false);
      Gvisor.describe(measures, group, limits.disk().bytes(), temporary);
      measures.applied("nofile-limit", limits.openFiles() + " descriptors a process");
    } else {
      inspection.ids(measures, Rootfs.READ_ONLY).files(measures, Rootfs.READ_ONLY);
      inspection.openFiles(measures, limits.openFiles());
    }
    measures.report(report);
    if (kind != Kind.GVISOR) {
      inspection.claims(measures);
    }
    if (state.volume() != null) {
      String detail = "ext4 of its own, " + limits.disk().bytes() + " bytes with its journal";
      measures.applied(Measures.VOLUME, detail).applied("workspace-limit", detail);
    } else {
      measures.missing(Measures.VOLUME, "none was asked for: files end with the machine");
    }
    return measures.as(kind.strength());
  }

  private SocketChannel connect(MachineFolder folder, HostProcess first) throws IOException {
    return await(folder, first, () -> GuestSocket.connect(folder.socket()));
  }

  private void awaitAnswer(MachineFolder folder, HostProcess first) throws IOException {
    var _ =
        await(
            folder,
            first,
            () -> {
              if (GuestSocket.answers(folder.socket())) {
                return true;
              }
              throw new IOException("it hung up");
            });
  }

  private interface Attempt<T> {
    T make() throws IOException;
  }

  /** The first success, while the guest lives: it does not listen from the beginning. */
  private <T> T await(MachineFolder folder, HostProcess first, Attempt<T> attempt)
      throws IOException {
    long end = System.nanoTime() + START.toNanos();
    IOException last = new IOException("it never answered");
    while (System.nanoTime() - end < 0) {
      try {
        return attempt.make();
      } catch (IOException e) {
        last = e; // it does not listen yet
      }
      if (!first.alive()) {
        throw Complaint.of("the guest ended: " + daemon.tail(folder.container()));
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
    }
    throw last;
  }

  @Override
  public Optional<String> overlayProblem() {
    return Optional.of(
        "engine '%s' has read-only roots only: a daemon puts what is written to a root where few of its storage drivers limit the size"
                .formatted(name())
            + "; use engine native, runc, crun or runsc for rootfs overlay");
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
    return kind.keepsVolumes() && probe.possible()
        ? Optional.of(new ImageVolumes(settings, this::copyVolume))
        : Optional.empty();
  }

  /** At one moment of whoever has it. */
  private void copyVolume(VolumeId from, VolumeId to) throws IOException {
    if (Files.notExists(ImageVolumes.image(volumeDirectory, from))) {
      throw new SandboxException(ErrorCode.VOLUME_NOT_FOUND, "copy volume: no volume " + from);
    }
    Optional<HostProcess> user = userOf(from);
    if (user.isEmpty()) {
      guestProgram.copy(from, to, Optional.empty());
      return;
    }
    ControlGroup group = hierarchies.groupOf(user.get().pid());
    boolean before = group.frozen();
    group.freeze();
    try {
      guestProgram.copy(from, to, user.map(HostProcess::pid));
    } finally {
      if (!before) {
        group.thaw();
      }
    }
  }

  private Optional<HostProcess> userOf(VolumeId volume) throws IOException {
    for (MachineFolder folder : folders()) {
      Optional<HostProcess> user = userOf(folder, volume);
      if (user.isPresent()) {
        return user;
      }
    }
    return Optional.empty();
  }

  private static Optional<HostProcess> userOf(MachineFolder folder, VolumeId volume)
      throws IOException {
    try {
      MachineState state = folder.read();
      return volume.equals(state.volume())
          ? state.first().filter(HostProcess::alive)
          : Optional.empty();
    } catch (NoSuchFileException e) {
      return Optional.empty(); // removed since it was listed
    }
  }

  @Override
  public List<Machine> recover() {
    var found = new ArrayList<Machine>();
    try {
      FreshFolder.sweep(runDirectory, name(), known::contains);
      for (MachineFolder folder : folders()) {
        if (!known.contains(folder.id())) {
          adopt(folder).ifPresent(found::add);
        }
      }
      if (probe.possible()) {
        // A folder that is still there is one that could not be looked at: its machine may live.
        var spared = new HashSet<>(known);
        folders().forEach(folder -> spared.add(folder.id()));
        sweepContainers(spared);
      }
    } catch (IOException e) {
      throw failed("recovery", e.getMessage(), e);
    }
    return found;
  }

  /** One that cannot be recovered is no reason to have none of the others. */
  private Optional<Machine> adopt(MachineFolder folder) {
    try {
      return recover(folder);
    } catch (IOException | RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot recover " + folder.path(), e);
      return Optional.empty();
    }
  }

  /** A machine that answers needs no daemon; one that is dead is left until there is one. */
  private Optional<Machine> recover(MachineFolder folder) throws IOException {
    Optional<MachineState> state = folder.state();
    Optional<HostProcess> first = state.flatMap(MachineState::first).filter(HostProcess::alive);
    if (first.isPresent() && !state.get().measures().isEmpty()) {
      ends.listen();
      Optional<ControlGroup> group = groupOf(first.get());
      if (group.isPresent()) {
        var machine =
            new DockerMachine(folder, state.get(), first.get(), group.get(), collaborators());
        known.add(folder.id());
        return Optional.of(machine);
      }
    }
    if (probe.possible()) {
      remains.sweep(folder);
    }
    return Optional.empty();
  }

  /** Empty when it has just ended. */
  private Optional<ControlGroup> groupOf(HostProcess first) throws IOException {
    try {
      return Optional.of(hierarchies.groupOf(first.pid()));
    } catch (IOException e) {
      if (first.alive()) {
        throw e;
      }
      return Optional.empty();
    }
  }

  /** Containers of this server without a folder: it was killed, or the host began anew. */
  private void sweepContainers(Set<SandboxId> spared) {
    try {
      for (JsonNode container : daemon.list(labels)) {
        String id = container.path("Labels").path(Labels.SANDBOX).asText("");
        if (!spared.contains(new SandboxId(id))) {
          removeForgotten(container.path("Id").asText());
        }
      }
    } catch (IOException e) {
      // What is found goes on without the daemon; the next start removes the others.
      LOG.log(System.Logger.Level.WARNING, "dead containers are left: " + e.getMessage());
    }
  }

  /** As with {@link #adopt}: the next server tries again. */
  private void removeForgotten(String container) {
    try {
      Remains.removeContainer(daemon, container);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot remove container " + container, e);
    }
  }

  private List<MachineFolder> folders() throws IOException {
    if (!Files.isDirectory(runDirectory)) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(runDirectory)) {
      return paths.flatMap(path -> MachineFolder.recognise(kind, path).stream()).toList();
    }
  }

  @Override
  public void close() {
    ends.close();
  }

  private static void requireShort(Path socket) {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > MAX_SOCKET_PATH) {
      throw failed("socket", "the path " + socket + " is too long for a socket", null)
          .withHint("choose a run directory with a shorter name");
    }
  }

  private static SandboxException failed(
      String step, @Nullable String why, @Nullable Throwable cause) {
    String message = "start, " + step + ": " + why;
    return cause == null
        ? new SandboxException(ErrorCode.ENGINE_FAILED, message)
        : new SandboxException(ErrorCode.ENGINE_FAILED, message, cause);
  }
}
