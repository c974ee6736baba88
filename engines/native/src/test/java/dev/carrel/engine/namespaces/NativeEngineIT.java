package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

/** The contract on this host as its root user, with every measure in force. */
final class NativeEngineIT extends EngineContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Override
  protected boolean keepsVolumes() {
    return true;
  }
}
