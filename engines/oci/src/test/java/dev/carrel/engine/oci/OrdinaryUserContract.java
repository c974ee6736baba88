package dev.carrel.engine.oci;

import dev.carrel.engine.testkit.OrdinaryUser;
import java.util.Set;

/** The contract for a server that is not root: run in a JVM of such a user. */
abstract class OrdinaryUserContract extends OciContract {
  OrdinaryUserContract(OciRuntime runtime) {
    super(runtime);
  }

  /** Loop devices are root's. */
  @Override
  protected boolean keepsVolumes() {
    return false;
  }

  @Override
  protected Set<String> allowMissing() {
    return OrdinaryUser.allowMissing();
  }

  static final class Runc extends OrdinaryUserContract {
    Runc() {
      super(OciRuntime.RUNC);
    }
  }

  static final class Crun extends OrdinaryUserContract {
    Crun() {
      super(OciRuntime.CRUN);
    }
  }

  static final class Runsc extends OrdinaryUserContract {
    Runsc() {
      super(OciRuntime.RUNSC);
    }
  }
}
