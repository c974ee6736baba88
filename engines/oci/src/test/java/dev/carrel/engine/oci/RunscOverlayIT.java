package dev.carrel.engine.oci;

/** Writable roots under {@code runsc}. */
final class RunscOverlayIT extends OciOverlay {
  RunscOverlayIT() {
    super(OciRuntime.RUNSC);
  }
}
