package dev.carrel.engine.namespaces;

import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;

/** Makes the engine {@code native}. */
public final class NativeEngineProvider implements EngineProvider {
  @Override
  public String name() {
    return NativeEngine.NAME;
  }

  @Override
  public Engine create(EngineSettings settings) {
    return new NativeEngine(settings);
  }
}
