package dev.carrel.engine.oci;

/** The lines of hardening under {@code crun}. */
final class CrunHardeningIT extends OciHardening {
  CrunHardeningIT() {
    super(OciRuntime.CRUN);
  }
}
