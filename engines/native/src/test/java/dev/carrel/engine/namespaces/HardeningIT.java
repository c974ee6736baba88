package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.HardeningContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

/** The lines of hardening under {@code native}. */
final class HardeningIT extends HardeningContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }
}
