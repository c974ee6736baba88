package dev.carrel.engine.docker;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code docker}. */
public final class DockerEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return Kind.NAMESPACES.engineName();
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new DockerEngine(Kind.NAMESPACES, settings);
  }
}
