package dev.carrel.engine.namespaces;

import dev.carrel.spi.Alarm;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Language;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.Preload;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import dev.carrel.spi.Volumes;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sandboxes made with the kernel's own means, by the spawn server in {@code lib/guest}. The server
 * and its sandboxes outlive this process.
 */
final class NativeEngine implements Engine {
  static final String NAME = "native";
  private static final String RUNTIME = "launcher";
  private static final String VOLUME = "volume";
  private static final byte[] PING = {0, 0, 0, 0, 1};
  private static final byte GUEST_OK = (byte) 0x80;
  private static final Duration RECOVER = Duration.ofSeconds(2);
  private static final Duration PROBLEMS_HOLD = Duration.ofSeconds(10);
  private static final int MAX_MESSAGE = 500;

  // What a virtual thread is told at once where any other waits for room.
  private static final String QUEUE_FULL = "Resource temporarily unavailable";
  private static final System.Logger LOG = System.getLogger(NativeEngine.class.getName());

  private final EngineSettings settings;
  private final Path runDirectory;
  private final Set<String> allowMissing;
  private final SpawnServer server;

  /** Those that somebody has a machine of, or is about to have: no recovery finds them again. */
  private final Set<SandboxId> known = ConcurrentHashMap.newKeySet();

  private final ReentrantLock probing = new ReentrantLock();
  private volatile @Nullable Capabilities capabilities;
  private volatile long measuredAt;
  private final AtomicBoolean lookingAgain = new AtomicBoolean();

  /** Empty: there is none. */
  private @Nullable String overlayProblem;

  NativeEngine(EngineSettings settings) {
    this(settings, new SpawnServer(settings));
  }

  NativeEngine(EngineSettings settings, SpawnServer server) {
    this.settings = settings;
    this.runDirectory = settings.runDirectory().toAbsolutePath().normalize();
    this.allowMissing = settings.allowMissing();
    this.server = server;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    Capabilities measured = capabilities;
    if (measured == null) {
      return measure();
    }
    boolean old = System.nanoTime() - measuredAt > PROBLEMS_HOLD.toNanos();
    if (old && !measured.problems().isEmpty() && lookingAgain.compareAndSet(false, true)) {
      // Who asks does not wait for it, and cannot interrupt it.
      Thread.ofVirtual().name("native-look").start(() -> lookAgain(measured));
    }
    return measured;
  }

  private Capabilities measure() {
    probing.lock();
    try {
      Capabilities measured = capabilities;
      if (measured == null) {
        measured = probe();
        measuredAt = System.nanoTime();
        capabilities = measured;
      }
      return measured;
    } finally {
      probing.unlock();
    }
  }

  /**
   * What a bad moment kept from working, a full disk say, is not lacking for ever. Another bad one
   * takes nothing away.
   */
  private void lookAgain(Capabilities before) {
    try {
      Capabilities now = probe();
      boolean more = now.problems().size() < before.problems().size();
      if (now.usable() && (more || !before.usable())) {
        capabilities = now;
      }
    } finally {
      measuredAt = System.nanoTime();
      lookingAgain.set(false);
    }
  }

  /** Makes a sandbox that may lack anything, and sees what it lacks. */
  private Capabilities probe() {
    Frame answer;
    try {
      answer = server.ask(Frame.of(Frame.PROBE)).getLast();
    } catch (IOException e) {
      return unusable(String.valueOf(e.getMessage()));
    }
    if (answer.type() != Frame.PROBED) {
      return unusable(failure("probe", answer).message());
    }
    Isolation isolation = Sandbox.isolation(answer);
    var problems = new ArrayList<String>();
    boolean usable = true;
    for (Measure measure : isolation.measures()) {
      if (measure.name().equals(VOLUME)) {
        if (!measure.applied()) {
          problems.add("files do not outlive their machine: " + measure.detail());
        }
      } else if (!measure.applied()) {
        boolean allowed = allowMissing.contains(measure.name());
        usable &= allowed;
        problems.add(
            measure.name()
                + " cannot be applied: "
                + measure.detail()
                + (allowed
                    ? " (allowed)"
                    : "; allow its absence with native.allow-missing or mend it"));
      }
    }
    return new Capabilities(NAME, RUNTIME, usable, isolation, problems);
  }

  private static Capabilities unusable(String problem) {
    var none = new Isolation(Isolation.Strength.NONE, List.of());
    return new Capabilities(NAME, RUNTIME, false, none, List.of(problem));
  }

  @Override
  public Machine start(SandboxId id, MachineSpec spec) {
    Frame request = Sandbox.request(id, spec.limits());
    allowMissing.forEach(measure -> request.with(Frame.ALLOW_MISSING, measure));
    if (spec.image() instanceof RootImage.Folder(Path path)) {
      request.with(Frame.IMAGE, path.toAbsolutePath().normalize().toString());
    }
    if (spec.volume() != null) {
      request.with(Frame.VOLUME, spec.volume().value());
    }
    if (spec.egressSocket() != null) {
      request.with(Frame.EGRESS, spec.egressSocket().toAbsolutePath().toString());
    }
    if (spec.isolated()) {
      request.with(Frame.ISOLATED, 1);
    }
    if (spec.rootfs() == Rootfs.OVERLAY) {
      request.with(Frame.OVERLAY, 1);
    }
    Frame destroy = Frame.of(Frame.DESTROY).with(Frame.ID, id.value());
    known.add(id);
    try {
      Frame answer = server.ask(request, Optional.of(destroy)).getLast();
      if (answer.type() != Frame.SANDBOX) {
        known.remove(id);
        throw failure("start", answer);
      }
      // The guest itself has reported: it serves.
      return new NativeMachine(Sandbox.of(answer), server, runDirectory, known::remove);
    } catch (IOException e) {
      try {
        // It may have come all the same, and nobody would ever look for it.
        server.ask(destroy, Optional.empty());
      } catch (IOException lost) {
        e.addSuppressed(lost);
      }
      known.remove(id);
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "start: " + e.getMessage(), e);
    }
  }

  @Override
  public Optional<Volumes> volumes() {
    boolean possible =
        capabilities().isolation().measures().stream()
            .anyMatch(measure -> measure.name().equals(VOLUME) && measure.applied());
    return possible ? Optional.of(new NativeVolumes(server, settings)) : Optional.empty();
  }

  @Override
  public Optional<String> overlayProblem() {
    probing.lock();
    try {
      String measured = overlayProblem;
      if (measured == null) {
        measured = probeOverlay();
        overlayProblem = measured;
      }
      return Optional.of(measured).filter(problem -> !problem.isEmpty());
    } finally {
      probing.unlock();
    }
  }

  /** Makes a sandbox with a writable root on any folder; empty when it comes up, else why not. */
  private String probeOverlay() {
    try {
      Frame answer = server.ask(Frame.of(Frame.PROBE).with(Frame.OVERLAY, 1)).getLast();
      return answer.type() == Frame.PROBED ? "" : failure("a writable root", answer).message();
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static boolean lives(Sandbox sandbox, NativeMachine machine) {
    return sandbox.running() && (sandbox.paused() || alive(machine));
  }

  /** Whoever owns it is told of what. */
  private static boolean diedOfSomething(NativeMachine machine) {
    return machine
        .death()
        .filter(death -> death.cause() != Machine.Death.Cause.UNKNOWN)
        .isPresent();
  }

  /**
   * A guest that is busy may not answer or have no room for one more to ask, but one that hangs up
   * is on its way out.
   */
  private static boolean alive(NativeMachine machine) {
    try {
      ping(machine);
      return true;
    } catch (ClosedChannelException e) {
      return true;
    } catch (IOException e) {
      return QUEUE_FULL.equals(e.getMessage());
    }
  }

  private static void ping(NativeMachine machine) throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        var _ = Alarm.after(RECOVER, () -> close(channel))) {
      channel.connect(machine.guestAddress());
      channel.write(ByteBuffer.wrap(PING));
      ByteBuffer header = ByteBuffer.allocate(Frame.HEADER);
      while (header.hasRemaining()) {
        if (channel.read(header) < 0) {
          throw new EOFException("the guest hung up");
        }
      }
      if (header.get(Frame.HEADER - 1) != GUEST_OK) {
        throw new IOException("the guest does not speak our protocol");
      }
    }
  }

  private static void close(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // Whoever waits for it is told.
    }
  }

  @Override
  public void warm(RootImage image, Language language, Preload preload) {
    if (language != Language.PYTHON) {
      return;
    }
    Frame request = Frame.of(Frame.FORK).with(Frame.PRELOAD, preload.wireName());
    if (image instanceof RootImage.Folder(Path path)) {
      request.with(Frame.IMAGE, path.toAbsolutePath().normalize().toString());
    }
    try {
      server.ask(request);
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "warming: " + e.getMessage(), e);
    }
  }

  @Override
  public List<Machine> recover() {
    var found = new ArrayList<Machine>();
    try {
      List<Frame> answers = server.ask(Frame.of(Frame.LIST));
      if (answers.getLast().type() != Frame.OK) {
        throw failure("recovery", answers.getLast());
      }
      for (Frame answer : answers.subList(0, answers.size() - 1)) {
        recover(Sandbox.of(answer)).ifPresent(found::add);
      }
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "recovery: " + e.getMessage(), e);
    }
    return found;
  }

  /** One that cannot be recovered is no reason to have none of the others. */
  private Optional<Machine> recover(Sandbox sandbox) {
    if (known.contains(sandbox.id())) {
      return Optional.empty();
    }
    var machine = new NativeMachine(sandbox, server, runDirectory, known::remove);
    try {
      if (lives(sandbox, machine) || diedOfSomething(machine)) {
        known.add(sandbox.id());
        return Optional.of(machine);
      }
      machine.destroy();
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot recover " + sandbox.id(), e);
    }
    return Optional.empty();
  }

  @Override
  public void close() {
    server.close();
  }

  /** What a FAILED answer means to the caller. */
  static SandboxException failure(String doing, Frame answer) {
    String step = answer.text(Frame.STEP);
    String message =
        doing + ", " + step + ": " + Text.printable(answer.text(Frame.MESSAGE), MAX_MESSAGE);
    return switch (answer.text(Frame.KIND)) {
      case "isolation" ->
          new SandboxException(ErrorCode.ISOLATION_NOT_AVAILABLE, message)
              .withHint(
                  "mend it on the host, or accept its absence with native.allow-missing: " + step);
      case "image" -> new SandboxException(ErrorCode.IMAGE_NOT_FOUND, message);
      case "busy" -> new SandboxException(ErrorCode.LIMIT_REACHED, message);
      case "conflict" -> new SandboxException(ErrorCode.WRONG_STATE, message);
      case "no_space" ->
          new SandboxException(ErrorCode.NO_SPACE, message)
              .withHint("free space on the server's disk, then try again");
      case "read_only" ->
          new SandboxException(ErrorCode.WRONG_STATE, message)
              .withHint(
                  "the server's disk was full or failed: see to it, then stop and start the sandbox,"
                      + " its files are kept");
      case "not_supported" -> new SandboxException(ErrorCode.NOT_SUPPORTED, message);
      default -> new SandboxException(ErrorCode.ENGINE_FAILED, message);
    };
  }
}
