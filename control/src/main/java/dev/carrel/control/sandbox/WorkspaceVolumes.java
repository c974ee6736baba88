package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.VolumeId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The volumes that sandboxes have as their /workspace. */
final class WorkspaceVolumes {
  private static final Logger LOG = LoggerFactory.getLogger(WorkspaceVolumes.class);

  private final VolumeStore store;
  private final Machines machines;

  WorkspaceVolumes(VolumeStore store, Machines machines) {
    this.store = store;
    this.machines = machines;
  }

  /** Removes the volume of a sandbox that needs it no more. */
  void drop(Sandbox row) {
    Sandbox.Volume volume = row.volume();
    if (volume != null) {
      remove(volume.id(), row.engine());
    }
  }

  /** Removes volumes whose sandbox is gone; for what an earlier attempt left. */
  void sweep() {
    store.unowned().forEach(volume -> remove(volume.id(), volume.engine()));
  }

  private void remove(VolumeId id, String engine) {
    var volumes = machines.volumes(engine);
    if (volumes.isEmpty()) {
      // Its row stays for the day when the engine is back.
      return;
    }
    try {
      volumes.get().remove(id);
    } catch (SandboxException e) {
      LOG.warn("volume {} could not be removed yet: {}", id, e.message());
      return;
    }
    store.remove(id);
  }
}
