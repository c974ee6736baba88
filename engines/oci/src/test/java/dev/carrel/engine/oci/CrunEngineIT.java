package dev.carrel.engine.oci;

/** The contract with {@code crun}. */
final class CrunEngineIT extends OciContract {
  CrunEngineIT() {
    super(OciRuntime.CRUN);
  }
}
