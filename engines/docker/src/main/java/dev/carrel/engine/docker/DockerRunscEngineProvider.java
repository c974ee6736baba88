package dev.carrel.engine.docker;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code docker-runsc}: gVisor, where the daemon knows it. */
public final class DockerRunscEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return Kind.GVISOR.engineName();
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new DockerEngine(Kind.GVISOR, settings);
  }
}
