package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.engine.testkit.OrdinaryUser;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.Set;

/**
 * The contract for a user without privileges: run by {@link OrdinaryUser}, in a JVM of that user.
 */
final class OrdinaryUserContract extends EngineContract {
  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
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
}
