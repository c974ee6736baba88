package dev.carrel.engine.oci;

/** The contract with {@code runc}. */
final class RuncEngineIT extends OciContract {
  RuncEngineIT() {
    super(OciRuntime.RUNC);
  }
}
