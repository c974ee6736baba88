package dev.carrel.engine.oci;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.testkit.FolderImageContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.Set;

/** Folders as roots under {@code runsc}. */
final class RunscFolderImageIT extends FolderImageContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new OciEngine(OciRuntime.RUNSC, settings);
  }

  /** Where this gVisor needs it. */
  @Override
  protected Set<String> addedToEtc() {
    return engine().capabilities().problems().stream().anyMatch(p -> p.contains(Gvisor.PRELOAD))
        ? Set.of("ld.so.preload")
        : Set.of();
  }
}
