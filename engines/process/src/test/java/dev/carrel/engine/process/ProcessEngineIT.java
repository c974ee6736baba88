package dev.carrel.engine.process;

import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

final class ProcessEngineIT extends EngineContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new ProcessEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return false;
  }

  @Override
  protected boolean keepsVolumes() {
    return true;
  }
}
