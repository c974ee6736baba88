package dev.carrel.engine.docker;

import dev.carrel.engine.host.Changes;
import dev.carrel.engine.host.ControlGroup;
import dev.carrel.engine.host.GuestSocket;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.MachineState;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.channels.ByteChannel;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A container and its folder. The daemon is asked where its word counts: to pause, to change
 * limits, to say how it ended and to remove it. Everything else goes past it.
 */
final class DockerMachine implements Machine {
  /** After which a dead process is believed to be dead, whatever the daemon says. */
  private static final Duration UNNOTICED = Duration.ofSeconds(10);

  private final MachineFolder folder;
  private final Daemon daemon;
  private final Remains remains;
  private final Ends ends;
  private final Consumer<SandboxId> gone;
  private final ControlGroup group;
  private final HostProcess first;
  private final Changes changes;
  private volatile MachineState state;
  private volatile Usage last = Usage.NONE;
  private volatile boolean paused;
  private volatile boolean destroyed;
  private volatile long missedSince;

  DockerMachine(
      MachineFolder folder,
      MachineState state,
      HostProcess first,
      ControlGroup group,
      DockerEngine.Collaborators with)
      throws IOException {
    this.folder = folder;
    this.state = state;
    this.first = first;
    this.group = group;
    this.daemon = with.daemon();
    this.remains = with.remains();
    this.ends = with.ends();
    this.gone = with.gone();
    this.paused = group.freezes() && group.frozen();
    this.changes = new Changes(this, group);
    ends.expect(folder.id());
  }

  @Override
  public SandboxId id() {
    return folder.id();
  }

  @Override
  public Isolation isolation() {
    return state.isolation(folder.kind().strength());
  }

  @Override
  public Limits limits() {
    return state.limits();
  }

  @Override
  public ByteChannel openGuest() throws IOException {
    return GuestSocket.connect(folder.socket());
  }

  @Override
  public Usage usage() {
    if (!destroyed) {
      try {
        last = group.usage();
      } catch (IOException e) {
        return last; // its group is gone, so it is dead: what was counted last stays true
      }
    }
    return last;
  }

  @Override
  public Optional<Death> death() {
    if (destroyed || Files.notExists(folder.path())) {
      return Optional.of(new Death(Death.Cause.STOPPED, "it was destroyed"));
    }
    if (first.alive()) {
      return Optional.empty();
    }
    if (missedSince == 0) {
      missedSince = System.nanoTime();
    }
    try {
      Optional<Death> known = ends.of(folder);
      if (known.isPresent()) {
        return known;
      }
    } catch (IOException e) {
      return Optional.of(
          new Death(
              Death.Cause.UNKNOWN,
              "its guest ended, and the daemon cannot say how: " + e.getMessage()));
    }
    return System.nanoTime() - missedSince < UNNOTICED.toNanos()
        ? Optional.empty() // the daemon hears of it in a moment, and knows how
        : Optional.of(
            new Death(Death.Cause.UNKNOWN, "its guest ended and the daemon did not notice"));
  }

  @Override
  public void pause() {
    changes.make(
        "pause",
        () -> {
          boolean before = paused;
          // From here on: an answer that is lost does not say that nothing was done.
          paused = true;
          if (stopsByItself()) {
            group.freeze();
          } else if (!before) {
            ask(true, () -> daemon.pause(folder.container()));
          }
        });
  }

  @Override
  public void resume() {
    changes.make(
        "resume",
        () -> {
          if (stopsByItself()) {
            group.thaw();
          } else if (paused) {
            ask(false, () -> daemon.resume(folder.container()));
          }
          paused = false;
        });
  }

  /** A daemon refuses what is done already, by an answer that was lost or by somebody else. */
  private void ask(boolean frozen, Changes.Step step) throws IOException {
    try {
      step.run();
    } catch (DaemonException e) {
      if (group.frozen() != frozen) {
        throw e;
      }
    }
  }

  /** Asked to pause, gVisor stops what it runs and goes on itself: so its group is frozen. */
  private boolean stopsByItself() {
    return folder.kind() == Kind.GVISOR;
  }

  @Override
  public boolean paused() {
    return paused;
  }

  @Override
  public Limits limit(Limits wanted) {
    if (folder.kind() == Kind.GVISOR) {
      throw new SandboxException(
          ErrorCode.NOT_SUPPORTED,
          "change limits: " + id() + " has a kernel of its own, whose limits are set at its start");
    }
    changes.make(
        "change limits of",
        () -> {
          Limits old = state.limits();
          var next =
              new Limits(
                  wanted.memory(), wanted.cpus(), wanted.pids(), old.disk(), old.openFiles());
          // The kernel first, which refuses what is in use; then the daemon, which remembers.
          group.change(old, next);
          daemon.update(folder.container(), ContainerRequest.resources(next, folder.kind()));
          MachineState changed = state.limited(next, group);
          folder.write(changed);
          state = changed;
        });
    return state.limits();
  }

  @Override
  public void destroy() {
    changes.inTurn(
        "destroying",
        () -> {
          usage();
          if (!destroyed) {
            remains.sweep(folder);
            gone.accept(id());
          }
          destroyed = true;
          paused = false;
          ends.forget(id());
        });
  }
}
