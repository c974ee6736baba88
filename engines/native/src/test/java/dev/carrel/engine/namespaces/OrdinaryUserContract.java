package dev.carrel.engine.namespaces;

import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import java.util.Set;

/**
 * The contract for a user without privileges: run by {@link ContractRun}, in a JVM of that user.
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
    String names = System.getProperty("carrel.test.allow-missing", "");
    return names.isEmpty() ? Set.of() : Set.of(names.split(",", -1));
  }
}
