package dev.carrel.engine.docker;

import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The contract with {@code runsc} under the daemon. */
@EnabledIfSystemProperty(
    named = "carrel.suites",
    matches = "full",
    disabledReason = "minutes long, and runsc alone passes it: ./carrel test --engines runs it")
final class DockerRunscEngineIT extends DockerContract {
  DockerRunscEngineIT() {
    super(Kind.GVISOR);
  }
}
