package dev.carrel.engine.oci;

/** The contract with {@code runsc}. */
final class RunscEngineIT extends OciContract {
  RunscEngineIT() {
    super(OciRuntime.RUNSC);
  }
}
