package dev.carrel.engine.docker;

import dev.carrel.engine.host.Hierarchies;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.IdRanges;
import dev.carrel.engine.host.ImageVolumes;
import dev.carrel.engine.host.LoopDevices;
import dev.carrel.engine.host.MachineState;
import dev.carrel.engine.host.Patience;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Ends a machine in whatever state it is, and leaves nothing of it but its volume. */
final class Remains {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final int ATTEMPTS = 20;
  private static final Duration PAUSE = Duration.ofMillis(200);

  private final Daemon daemon;
  private final Path volumeDirectory;
  private final Hierarchies hierarchies;

  Remains(Daemon daemon, Path volumeDirectory, Hierarchies hierarchies) {
    this.hierarchies = hierarchies;
    this.daemon = daemon;
    this.volumeDirectory = volumeDirectory;
  }

  void sweep(MachineFolder folder) throws IOException {
    if (!Files.isDirectory(folder.path())) {
      return;
    }
    Optional<MachineState> state = folder.state();
    Optional<HostProcess> first = state.flatMap(MachineState::first);
    if (folder.kind() == Kind.GVISOR && first.isPresent()) {
      kill(first.get());
    }
    removeContainer(daemon, folder.container());
    if (first.isPresent() && !Patience.until(PATIENCE, () -> !first.get().alive())) {
      throw new IOException("its first process does not end: " + first.get());
    }
    VolumeId volume = state.map(MachineState::volume).orElse(null);
    // One that never came so far may have found it with another machine.
    if (volume != null && folder.hasVolume()) {
      Path image = ImageVolumes.image(volumeDirectory, volume);
      if (!Patience.until(PATIENCE, () -> !LoopDevices.hold(image))) {
        throw new IOException("a loop device does not let go of " + volume);
      }
    }
    if (state.isPresent() && state.get().base().isPresent()) {
      IdRanges.release(state.get().base().getAsInt(), folder.path());
    }
    folder.remove();
  }

  /** gVisor is asked by the daemon to end, and answers only where nothing stopped or froze it. */
  private void kill(HostProcess first) throws IOException {
    if (first.alive()) {
      hierarchies.groupOf(first.pid()).thawRemains();
      first.kill();
    }
  }

  /** Returns when the daemon has no such container any more. */
  static void removeContainer(Daemon daemon, String name) throws IOException {
    for (int i = 0; ; i++) {
      try {
        daemon.remove(name);
        return;
      } catch (DaemonException e) {
        if (e.isNotFound()) {
          return;
        }
        // Somebody else is at it already, or the kernel has not let go of a mount yet.
        if (i == ATTEMPTS) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }
}
