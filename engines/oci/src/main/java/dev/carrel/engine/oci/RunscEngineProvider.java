package dev.carrel.engine.oci;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code runsc}. */
public final class RunscEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return OciRuntime.RUNSC.engineName();
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new OciEngine(OciRuntime.RUNSC, settings);
  }
}
