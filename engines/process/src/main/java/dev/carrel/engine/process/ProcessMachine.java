package dev.carrel.engine.process;

import dev.carrel.engine.host.GuestSocket;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A guest process and its folder. */
final class ProcessMachine implements Machine {
  private static final Duration POLITE = Duration.ofSeconds(3);
  private static final Duration FORCED = Duration.ofSeconds(5);
  private static final long GRACE_MILLIS = 200;
  private static final int SIGNALLED = 128;
  private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

  private final MachineFolder folder;
  private final Limits limits;
  private final HostProcess guest;
  private final @Nullable Process child;
  private volatile boolean destroyed;

  /**
   * @param child the guest where this JVM started it; then its exit status can be known
   */
  ProcessMachine(MachineFolder folder, Limits limits, HostProcess guest, @Nullable Process child) {
    this.folder = folder;
    this.limits = limits;
    this.guest = guest;
    this.child = child;
  }

  @Override
  public SandboxId id() {
    return folder.id();
  }

  @Override
  public Isolation isolation() {
    return ProcessEngine.ISOLATION;
  }

  /** As asked: nothing enforces them here, which the isolation report says of each. */
  @Override
  public Limits limits() {
    return limits;
  }

  @Override
  public ByteChannel openGuest() throws IOException {
    return GuestSocket.connect(folder.socket());
  }

  @Override
  public int proxyPort() {
    return folder.proxyPort().orElse(PROXY_PORT);
  }

  @Override
  public Usage usage() {
    return Usage.NONE;
  }

  @Override
  public Optional<Death> death() {
    if (destroyed) {
      return Optional.of(new Death(Death.Cause.STOPPED, "the machine was destroyed"));
    }
    if (child == null) {
      return guest.alive()
          ? Optional.empty()
          : Optional.of(new Death(Death.Cause.UNKNOWN, "the guest is gone, unseen by this server"));
    }
    if (child.isAlive()) {
      return Optional.empty();
    }
    int code = child.exitValue();
    if (code > SIGNALLED) {
      return Optional.of(
          new Death(Death.Cause.KILLED, "the guest was ended by signal " + (code - SIGNALLED)));
    }
    return Optional.of(
        code == 0
            ? new Death(Death.Cause.STOPPED, "the guest was shut down")
            : new Death(Death.Cause.CRASHED, "the guest ended with code " + code));
  }

  @Override
  public void destroy() {
    try {
      if (guest.alive()) {
        shutdown();
      }
      sweep(folder);
      destroyed = true;
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, "remove machine " + id() + ": " + e.getMessage(), e);
    }
  }

  /** Ends whatever is left of a machine whose guest is gone or going, and removes its folder. */
  static void sweep(MachineFolder folder) throws IOException {
    // Each command's keeper is a fork of the guest and so has its arguments. When the guest has
    // gone it kills its command's tree and follows; killed first, it would leave the tree behind.
    if (!await(FORCED, () -> processes(folder).isEmpty())) {
      for (HostProcess remaining : processes(folder)) {
        ProcessHandle.of(remaining.pid())
            .ifPresent(handle -> handle.descendants().forEach(ProcessHandle::destroyForcibly));
        remaining.kill();
      }
      if (!await(FORCED, () -> processes(folder).isEmpty())) {
        throw new IOException("processes do not end: " + processes(folder));
      }
    }
    folder.remove();
  }

  /** The guest, as the engine starts it, and the keepers that it forked. */
  static List<HostProcess> processes(MachineFolder folder) {
    List<String> mark = List.of("init", "--socket", folder.socket().toString());
    // What starts it has a word more, for a moment.
    return HostProcess.ours(
        arguments ->
            Stream.of(1, 2)
                .anyMatch(
                    at ->
                        arguments.size() >= at + mark.size()
                            && arguments.subList(at, at + mark.size()).equals(mark)));
  }

  private void shutdown() {
    Thread polite = Thread.ofVirtual().name("shutdown-" + id()).start(this::ask);
    try {
      if (polite.join(POLITE)) {
        await(POLITE, () -> !guest.alive());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    polite.interrupt(); // a guest that was stopped neither answers nor hangs up
    List<ProcessHandle> tree =
        guest.alive()
            ? ProcessHandle.of(guest.pid()).stream().flatMap(ProcessHandle::descendants).toList()
            : List.of();
    guest.kill();
    tree.forEach(ProcessHandle::destroyForcibly);
  }

  private void ask() {
    try (SocketChannel channel = GuestSocket.connect(folder.socket())) {
      GuestSocket.shutdown(channel, GRACE_MILLIS);
    } catch (IOException e) {
      guest.kill(); // it does not listen to words
    }
  }

  private static boolean await(Duration limit, BooleanSupplier condition) {
    // The JDK gives no event for the end of a process that is not its child.
    long end = System.nanoTime() + limit.toNanos();
    long pause = TimeUnit.MILLISECONDS.toNanos(1);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      LockSupport.parkNanos(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
    return true;
  }
}
