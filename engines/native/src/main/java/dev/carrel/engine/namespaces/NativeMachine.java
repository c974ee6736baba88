package dev.carrel.engine.namespaces;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.KernelFork;
import dev.carrel.spi.Language;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One sandbox of the spawn server. */
final class NativeMachine implements Machine {
  private static final int SIGKILL = 9;

  /** The spawn server reads no larger request; an environment of that size is rare. */
  private static final int MAX_FORK = 16_000;

  private final SpawnServer server;
  private final Path folder;
  private final Consumer<SandboxId> forget;
  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable Counters counters;
  private Usage last = Usage.NONE;
  private volatile boolean destroyed;
  private volatile boolean paused;

  /** As it was told last: limits change. */
  private volatile Sandbox sandbox;

  /**
   * @param forget told when it is destroyed
   */
  NativeMachine(
      Sandbox sandbox, SpawnServer server, Path runDirectory, Consumer<SandboxId> forget) {
    this.sandbox = sandbox;
    this.forget = forget;
    this.paused = sandbox.paused();
    this.server = server;
    this.folder = runDirectory.resolve(sandbox.id().value());
  }

  @Override
  public SandboxId id() {
    return sandbox.id();
  }

  @Override
  public Isolation isolation() {
    return sandbox.isolation();
  }

  @Override
  public Limits limits() {
    return sandbox.limits();
  }

  /** The guest's process as the host numbers it. */
  long pid() {
    return sandbox.pid();
  }

  List<Cgroup> cgroups() {
    return sandbox.cgroups();
  }

  @Override
  public ByteChannel openGuest() throws IOException {
    return SocketChannel.open(guestAddress());
  }

  UnixDomainSocketAddress guestAddress() {
    return UnixDomainSocketAddress.of(folder.resolve("guest.sock"));
  }

  @Override
  public boolean fork(KernelFork wanted) {
    if (wanted.language() != Language.PYTHON) {
      return false;
    }
    Frame request =
        Frame.of(Frame.FORK)
            .with(Frame.ID, id().value())
            .with(Frame.EXEC, wanted.exec().value())
            .with(Frame.PRELOAD, wanted.preload().wireName());
    if (wanted.cwd() != null) {
      request.with(Frame.DIRECTORY, wanted.cwd());
    }
    wanted.environment().forEach((name, value) -> request.with(Frame.VARIABLE, name + "=" + value));
    if (request.encode().remaining() > MAX_FORK) {
      return false;
    }
    try {
      return server.ask(request).getLast().findNumber(Frame.FORKED).orElse(0L) == 1;
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, "forking into " + id() + ": " + e.getMessage(), e);
    }
  }

  @Override
  public Usage usage() {
    lock.lock();
    try {
      if (!destroyed) {
        if (counters == null) {
          counters = Counters.open(sandbox.cgroups());
        }
        last = counters.read();
      }
    } catch (IOException e) {
      // Its groups are gone, or no more files can be opened: what was counted last stays true.
      // Whether it lives is the spawn server's to say, and to end it too.
      closeCounters();
    } finally {
      lock.unlock();
    }
    return last;
  }

  @Override
  public Optional<Death> death() {
    if (destroyed || Files.notExists(folder)) {
      return Optional.of(new Death(Death.Cause.STOPPED, "it was destroyed"));
    }
    try {
      Frame status = server.ask(Frame.of(Frame.STATUS).with(Frame.ID, id().value())).getLast();
      if (status.type() != Frame.STATUS_IS) {
        return Optional.of(new Death(Death.Cause.UNKNOWN, status.text(Frame.MESSAGE)));
      }
      return status.number(Frame.RUNNING) == 1 ? Optional.empty() : Optional.of(death(status));
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, "asking for " + id() + ": " + e.getMessage(), e);
    }
  }

  private static Death death(Frame status) {
    Optional<Long> signal = status.findNumber(Frame.SIGNAL);
    Optional<Long> code = status.findNumber(Frame.EXIT_CODE);
    long oomKills = status.findNumber(Frame.OOM_KILLS).orElse(0L);
    if (signal.isPresent() && signal.get() == SIGKILL) {
      return oomKills > 0
          ? new Death(
              Death.Cause.OUT_OF_MEMORY,
              "the kernel killed " + oomKills + " processes at the memory limit, the guest too")
          : new Death(Death.Cause.KILLED, "its guest was killed by signal 9");
    }
    if (signal.isPresent()) {
      return new Death(Death.Cause.CRASHED, "its guest ended by signal " + signal.get());
    }
    if (code.isPresent()) {
      return code.get() == 0
          ? new Death(Death.Cause.STOPPED, "its guest ended in order")
          : new Death(Death.Cause.CRASHED, "its guest ended with code " + code.get());
    }
    return new Death(Death.Cause.UNKNOWN, "its guest ended while no server watched it");
  }

  @Override
  public void pause() {
    ask("pause", Frame.of(Frame.PAUSE));
    paused = true;
  }

  @Override
  public void resume() {
    ask("resume", Frame.of(Frame.RESUME));
    paused = false;
  }

  @Override
  public boolean paused() {
    return paused;
  }

  @Override
  public Limits limit(Limits wanted) {
    Frame answer = ask("change limits", Sandbox.withLimits(Frame.of(Frame.LIMIT), wanted));
    try {
      sandbox = Sandbox.of(answer);
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "change limits: " + e.getMessage(), e);
    }
    return sandbox.limits();
  }

  /** A request about this sandbox, which must be running. */
  private Frame ask(String doing, Frame request) {
    try {
      Frame answer = server.ask(request.with(Frame.ID, id().value())).getLast();
      if (answer.type() == Frame.FAILED) {
        throw answer.text(Frame.KIND).equals("not_found")
            ? new SandboxException(ErrorCode.SANDBOX_GONE, doing + ": " + id() + " is gone")
            : NativeEngine.failure(doing, answer);
      }
      return answer;
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, doing + " " + id() + ": " + e.getMessage(), e);
    }
  }

  @Override
  public void destroy() {
    destroy(Frame.of(Frame.DESTROY));
  }

  @Override
  public void discard() {
    destroy(Frame.of(Frame.DESTROY).with(Frame.DISCARD, 1));
  }

  private void destroy(Frame request) {
    if (!destroyed && Files.exists(folder)) {
      Frame answer;
      try {
        answer = server.ask(request.with(Frame.ID, id().value())).getLast();
      } catch (IOException e) {
        throw new SandboxException(
            ErrorCode.ENGINE_FAILED, "destroying " + id() + ": " + e.getMessage(), e);
      }
      if (answer.type() != Frame.OK) {
        throw NativeEngine.failure("destroy", answer);
      }
    }
    lock.lock();
    try {
      if (!destroyed) {
        destroyed = true;
        forget.accept(id());
      }
      closeCounters();
    } finally {
      lock.unlock();
    }
  }

  private void closeCounters() {
    if (counters != null) {
      counters.close();
      counters = null;
    }
  }
}
