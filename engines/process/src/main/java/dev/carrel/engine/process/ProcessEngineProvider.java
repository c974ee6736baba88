package dev.carrel.engine.process;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code process}. */
public final class ProcessEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return ProcessEngine.NAME;
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new ProcessEngine(settings);
  }
}
