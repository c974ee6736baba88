package dev.carrel.engine.oci;

import dev.carrel.engine.testkit.OrdinaryUser;
import java.util.Set;

/** The lines of hardening for a server that is not root: run in a JVM of such a user. */
abstract class OrdinaryUserHardening extends OciHardening {
  OrdinaryUserHardening(OciRuntime runtime) {
    super(runtime);
  }

  @Override
  protected Set<String> allowMissing() {
    return OrdinaryUser.allowMissing();
  }

  /** It sees numbers of its companion's user namespace. */
  @Override
  protected boolean showsIds() {
    return false;
  }

  static final class Runc extends OrdinaryUserHardening {
    Runc() {
      super(OciRuntime.RUNC);
    }
  }

  static final class Crun extends OrdinaryUserHardening {
    Crun() {
      super(OciRuntime.CRUN);
    }
  }

  static final class Runsc extends OrdinaryUserHardening {
    Runsc() {
      super(OciRuntime.RUNSC);
    }
  }
}
