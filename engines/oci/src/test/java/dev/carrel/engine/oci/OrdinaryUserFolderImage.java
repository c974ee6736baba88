package dev.carrel.engine.oci;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.testkit.FolderImageContract;
import dev.carrel.engine.testkit.OrdinaryUser;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.Set;

/** Folders as roots for a server that is not root: run in a JVM of such a user. */
abstract class OrdinaryUserFolderImage extends FolderImageContract {
  private final OciRuntime runtime;

  OrdinaryUserFolderImage(OciRuntime runtime) {
    this.runtime = runtime;
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new OciEngine(runtime, settings);
  }

  @Override
  protected Set<String> allowMissing() {
    return OrdinaryUser.allowMissing();
  }

  @Override
  protected Set<String> addedToEtc() {
    return Gvisor.preloads(engine().capabilities()) ? Set.of("ld.so.preload") : Set.of();
  }

  static final class Runc extends OrdinaryUserFolderImage {
    Runc() {
      super(OciRuntime.RUNC);
    }
  }

  static final class Crun extends OrdinaryUserFolderImage {
    Crun() {
      super(OciRuntime.CRUN);
    }
  }

  static final class Runsc extends OrdinaryUserFolderImage {
    Runsc() {
      super(OciRuntime.RUNSC);
    }
  }
}
