package dev.carrel.engine.docker;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.spi.Isolation.Strength;
import java.util.Optional;
import java.util.Set;

/** What makes the daemon's containers, and so which engine this is. */
enum Kind {
  NAMESPACES("docker", Strength.NAMESPACES),
  GVISOR("docker-runsc", Strength.GVISOR);

  private static final String RUNC = "runc";
  private static final String CRUN = "crun";
  private static final String RUNSC = "runsc";

  private final String engineName;
  private final Strength strength;

  Kind(String engineName, Strength strength) {
    this.engineName = engineName;
    this.strength = strength;
  }

  String engineName() {
    return engineName;
  }

  Strength strength() {
    return strength;
  }

  /** What a machine of this kind never has, or never shows. */
  Set<String> neverHas() {
    return this == GVISOR ? Gvisor.NEVER_HAS : Set.of();
  }

  /** Whether the guest gives itself ids of its own. gVisor's kernel is a stranger to the host's. */
  boolean mapsIds() {
    return this == NAMESPACES;
  }

  /** Whether a mount can be put into a machine that runs: it is where /workspace comes from. */
  boolean keepsVolumes() {
    return this == NAMESPACES;
  }

  /**
   * The name by which the daemon knows the runtime; empty where it knows none of this kind. The
   * daemon's own choice is taken where it is of this kind.
   */
  Optional<String> runtime(DaemonInfo info) {
    Set<String> known = info.runtimes();
    if (this == GVISOR) {
      return known.contains(RUNSC) ? Optional.of(RUNSC) : Optional.empty();
    }
    String usual = info.defaultRuntime();
    if (usual.endsWith(RUNC) || usual.endsWith(CRUN)) {
      return Optional.of(usual);
    }
    return known.contains(RUNC)
        ? Optional.of(RUNC)
        : known.contains(CRUN) ? Optional.of(CRUN) : Optional.empty();
  }
}
