package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.OverlayContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

/** Writable roots as the launcher makes them. */
final class OverlayIT extends OverlayContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }
}
