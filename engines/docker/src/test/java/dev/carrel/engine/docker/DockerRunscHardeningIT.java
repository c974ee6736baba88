package dev.carrel.engine.docker;

/** With {@code runsc} under the daemon. */
final class DockerRunscHardeningIT extends DockerHardening {
  DockerRunscHardeningIT() {
    super(Kind.GVISOR);
  }
}
