package dev.carrel.engine.oci;

/** The lines of hardening under {@code runsc}. */
final class RunscHardeningIT extends OciHardening {
  RunscHardeningIT() {
    super(OciRuntime.RUNSC);
  }
}
