package dev.carrel.engine.oci;

import dev.carrel.engine.host.ControlGroup;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.IdRanges;
import dev.carrel.engine.host.LoopDevices;
import dev.carrel.engine.host.MachineState;
import dev.carrel.engine.host.Patience;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/** Ends a machine in whatever state it is, and leaves nothing of it but its volume. */
final class Remains {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final Companion companion;

  Remains(Companion companion) {
    this.companion = companion;
  }

  ControlGroup group(SandboxId id) {
    return companion.group(id);
  }

  void sweep(MachineFolder folder) throws IOException {
    if (!Files.isDirectory(folder.path())) {
      return;
    }
    ControlGroup group = group(folder.id());
    group.thawRemains(); // in version 1 not even SIGKILL reaches who is frozen
    // The first process takes all others with it; then the companion cleans up and follows.
    Optional<MachineState> state = folder.state();
    Optional<HostProcess> first = state.flatMap(MachineState::first).filter(HostProcess::alive);
    first
        .or(() -> folder.writtenPid().filter(processes(folder.id(), first)::contains))
        .ifPresent(HostProcess::kill);
    if (!await(() -> processes(folder.id(), first).isEmpty())) {
      processes(folder.id(), first).forEach(HostProcess::kill);
      if (!await(() -> processes(folder.id(), first).isEmpty())) {
        throw new IOException("processes do not end: " + processes(folder.id(), first));
      }
    }
    companion.delete(folder);
    await(
        () -> {
          group.remove();
          return !group.exists();
        });
    VolumeId volume = state.map(MachineState::volume).orElse(null);
    // One that never came so far may have found it with another machine.
    if (volume != null
        && folder.hasMounted()
        && !await(() -> !LoopDevices.hold(companion.image(volume)))) {
      throw new IOException("a loop device does not let go of " + volume);
    }
    if (state.isPresent() && state.get().base().isPresent()) {
      IdRanges.release(state.get().base().getAsInt(), folder.path());
    }
    folder.remove();
  }

  /**
   * Its first process, its companion with all that it started or took over, and whoever is in its
   * group: its guest and whatever the runtime keeps running for it.
   */
  private List<HostProcess> processes(SandboxId id, Optional<HostProcess> first) {
    var pids = new TreeSet<>(group(id).processes());
    for (HostProcess ours : Companion.processes(id, Set.of("run", "delete"))) {
      pids.add(ours.pid());
      ProcessHandle.of(ours.pid()).stream()
          .flatMap(ProcessHandle::descendants)
          .forEach(process -> pids.add(process.pid()));
    }
    first.filter(HostProcess::alive).ifPresent(process -> pids.add(process.pid()));
    return pids.stream().flatMap(pid -> HostProcess.find(pid).stream()).toList();
  }

  private static boolean await(BooleanSupplier condition) {
    return Patience.until(PATIENCE, condition);
  }
}
