package dev.carrel.engine.docker;

/** With {@code runc} under the daemon. */
final class DockerHardeningIT extends DockerHardening {
  DockerHardeningIT() {
    super(Kind.NAMESPACES);
  }
}
