package dev.carrel.engine.oci;

import dev.carrel.engine.testkit.FolderImageContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;

/** Folders as roots under {@code crun}. */
final class CrunFolderImageIT extends FolderImageContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new OciEngine(OciRuntime.CRUN, settings);
  }
}
