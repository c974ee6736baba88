package dev.carrel.engine.oci;

/** Writable roots under {@code crun}. */
final class CrunOverlayIT extends OciOverlay {
  CrunOverlayIT() {
    super(OciRuntime.CRUN);
  }
}
