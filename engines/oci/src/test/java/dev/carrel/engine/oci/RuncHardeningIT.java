package dev.carrel.engine.oci;

/** The lines of hardening under {@code runc}. */
final class RuncHardeningIT extends OciHardening {
  RuncHardeningIT() {
    super(OciRuntime.RUNC);
  }
}
