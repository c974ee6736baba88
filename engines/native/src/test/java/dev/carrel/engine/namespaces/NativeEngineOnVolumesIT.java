package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.VolumeId;

/** The whole contract once more with every /workspace on a volume. */
final class NativeEngineOnVolumesIT extends EngineContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Override
  protected boolean keepsVolumes() {
    return true;
  }

  @Override
  protected MachineSpec prepared(MachineSpec spec) {
    VolumeId volume = spec.volume() == null ? VolumeId.random() : spec.volume();
    return new MachineSpec(
        spec.image(), spec.limits(), spec.egressSocket(), volume, spec.isolated(), spec.rootfs());
  }
}
