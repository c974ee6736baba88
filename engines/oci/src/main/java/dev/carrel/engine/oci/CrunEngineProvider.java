package dev.carrel.engine.oci;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code crun}. */
public final class CrunEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return OciRuntime.CRUN.engineName();
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new OciEngine(OciRuntime.CRUN, settings);
  }
}
