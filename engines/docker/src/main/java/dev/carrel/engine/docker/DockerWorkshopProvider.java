package dev.carrel.engine.docker;

import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Workshop;
import dev.carrel.spi.WorkshopProvider;

/** Makes the workshop {@code docker}. */
public final class DockerWorkshopProvider implements WorkshopProvider {
  @Override
  public Workshop create(EngineSettings settings) {
    return new DockerWorkshop(settings);
  }
}
