package dev.carrel.engine.oci;

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
import java.util.Properties;
import java.util.function.Consumer;

/** A container, its companion and its folder. */
final class OciMachine implements Machine {
  private static final Duration UNNOTICED = Duration.ofSeconds(2);

  private final MachineFolder folder;
  private final Remains remains;
  private final Consumer<SandboxId> gone;
  private final ControlGroup group;
  private final Changes changes;
  private volatile MachineState state;
  private volatile Usage last = Usage.NONE;
  private volatile boolean paused;
  private volatile boolean destroyed;
  // When its first process was found gone and its end not written yet; 0: never.
  private volatile long missedSince;

  OciMachine(MachineFolder folder, MachineState state, Remains remains, Consumer<SandboxId> gone)
      throws IOException {
    this.gone = gone;
    this.folder = folder;
    this.state = state;
    this.remains = remains;
    this.group = remains.group(folder.id());
    this.paused = group.freezes() && group.frozen();
    this.changes = new Changes(this, group);
  }

  @Override
  public SandboxId id() {
    return folder.id();
  }

  @Override
  public Isolation isolation() {
    return state.isolation(folder.runtime().strength());
  }

  @Override
  public Limits limits() {
    return state.limits();
  }

  @Override
  public ByteChannel openGuest() throws IOException {
    return GuestSocket.connect(folder.socket());
  }

  MachineState state() {
    return state;
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
    try {
      Optional<Properties> end = folder.end();
      if (end.isPresent()) {
        return Optional.of(death(end.get()));
      }
    } catch (IOException e) {
      throw Changes.failed(this, "asking for", e);
    }
    if (state.first().map(HostProcess::alive).orElse(false)) {
      return Optional.empty();
    }
    if (missedSince == 0) {
      missedSince = System.nanoTime();
    }
    return System.nanoTime() - missedSince < UNNOTICED.toNanos()
        ? Optional.empty() // its companion writes down how in a moment
        : Optional.of(new Death(Death.Cause.UNKNOWN, "its guest ended and nobody saw how"));
  }

  private static Death death(Properties end) {
    String signal = end.getProperty("signal", "");
    String kills = end.getProperty("oom-kills", "0");
    if (!kills.equals("0") && signal.equals("9")) {
      return new Death(
          Death.Cause.OUT_OF_MEMORY,
          "the kernel killed " + kills + " processes at the memory limit, the guest too");
    }
    if (!signal.isEmpty()) {
      return new Death(
          signal.equals("9") ? Death.Cause.KILLED : Death.Cause.CRASHED,
          "its first process was ended by signal " + signal);
    }
    String code = end.getProperty("code", "");
    return code.equals("0")
        ? new Death(Death.Cause.STOPPED, "its guest ended in order")
        : new Death(Death.Cause.CRASHED, "its first process ended with code " + code);
  }

  @Override
  public void pause() {
    changes.make(
        "pause",
        () -> {
          group.freeze();
          paused = true;
        });
  }

  @Override
  public void resume() {
    changes.make(
        "resume",
        () -> {
          group.thaw();
          paused = false;
        });
  }

  @Override
  public boolean paused() {
    return paused;
  }

  @Override
  public Limits limit(Limits wanted) {
    boolean possible =
        isolation().measures().stream()
            .filter(m -> m.name().equals("memory-limit") || m.name().equals("pids-limit"))
            .allMatch(Isolation.Measure::applied);
    if (!possible) {
      throw new SandboxException(
          ErrorCode.NOT_SUPPORTED,
          "change limits: %s has no control group whose limits can be changed: it has a kernel of"
                  .formatted(id())
              + " its own, or its server is not root");
    }
    changes.make(
        "change limits of",
        () -> {
          Limits old = state.limits();
          var next =
              new Limits(
                  wanted.memory(), wanted.cpus(), wanted.pids(), old.disk(), old.openFiles());
          group.change(old, next);
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
        });
  }
}
