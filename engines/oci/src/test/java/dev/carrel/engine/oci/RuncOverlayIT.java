package dev.carrel.engine.oci;

/** Writable roots under {@code runc}. */
final class RuncOverlayIT extends OciOverlay {
  RuncOverlayIT() {
    super(OciRuntime.RUNC);
  }
}
