package dev.carrel.engine.oci;

import dev.carrel.engine.testkit.OverlayContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

/** Writable roots on the stage of a runtime. */
abstract class OciOverlay extends OverlayContract {
  private final OciRuntime runtime;

  OciOverlay(OciRuntime runtime) {
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
}
