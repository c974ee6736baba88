package dev.carrel.engine.oci;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code runc}. */
public final class RuncEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return OciRuntime.RUNC.engineName();
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new OciEngine(OciRuntime.RUNC, settings);
  }
}
