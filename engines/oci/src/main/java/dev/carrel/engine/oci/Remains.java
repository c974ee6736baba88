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
    String argument = folder.id().value();
    folder.writtenPid().filter(first -> first.runsWith(argument)).ifPresent(HostProcess::kill);
    if (!await(() -> processes(folder.id()).isEmpty())) {
      processes(folder.id()).forEach(HostProcess::kill);
      if (!await(() -> processes(folder.id()).isEmpty())) {
        throw new IOException("processes do not end: " + processes(folder.id()));
      }
    }
    companion.delete(folder);
    await(
        () -> {
          group.remove();
          return !group.exists();
        });
    MachineState state = folder.read();
    var base = state.base();
    VolumeId volume = state.volume();
    // One that never came so far may have found it with another machine.
    if (volume != null
        && folder.hasMounted()
        && !await(() -> !LoopDevices.hold(companion.image(volume)))) {
      throw new IOException("a loop device does not let go of " + volume);
    }
    folder.remove();
    if (base.isPresent()) {
      IdRanges.release(base.getAsInt());
    }
  }

  /** Its companion, its guest and whatever the runtime keeps running for it. */
  static List<HostProcess> processes(SandboxId id) {
    return HostProcess.withArgument(id.value());
  }

  private static boolean await(BooleanSupplier condition) {
    return Patience.until(PATIENCE, condition);
  }
}
