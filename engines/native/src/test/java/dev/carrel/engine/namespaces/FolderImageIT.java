package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.FolderImageContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

/** Folders as roots under {@code native}. */
final class FolderImageIT extends FolderImageContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }
}
