package dev.carrel.engine.oci;

import dev.carrel.engine.testkit.HardeningContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.HashSet;
import java.util.Set;

/** The lines of hardening as a runtime draws them. */
abstract class OciHardening extends HardeningContract {
  private final OciRuntime runtime;

  OciHardening(OciRuntime runtime) {
    this.runtime = runtime;
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new OciEngine(runtime, settings);
  }

  @Override
  protected boolean ownKernel() {
    return runtime == OciRuntime.RUNSC;
  }

  /** A link to memory of the kernel that is masked, and what gVisor itself offers. */
  @Override
  protected Set<String> devices() {
    var all = new HashSet<>(super.devices());
    switch (runtime) {
      case RUNC -> {}
      case CRUN -> all.add("core");
      case RUNSC -> all.addAll(Set.of("fuse", "net"));
    }
    return all;
  }

  /** Two more than under native, both of the guest's alone. */
  @Override
  protected Set<String> writableMounts() {
    var all = new HashSet<>(Set.of("/dev", "/proc", "/run/carrel/guest", "/tmp", "/workspace"));
    if (ownKernel()) {
      all.add("/sys"); // its own
    }
    return all;
  }
}
