package dev.carrel.engine.docker;

/** The contract with {@code runc} under the daemon. */
final class DockerEngineIT extends DockerContract {
  DockerEngineIT() {
    super(Kind.NAMESPACES);
  }
}
