package dev.carrel.e2e;

import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * What a test needs and some engine cannot have. A test that needs it says so, and is listed with
 * the reason where it did not run.
 */
public enum Need {
  /** No program runs as its owner, also by what its mount says. */
  NOSUID_MOUNTS(
      "docker runsc docker-runsc",
      "a daemon cannot be told so of a bind, and gVisor's /proc does not show it; that such"
          + " programs gain nothing is tried instead"),

  /** Control groups that have the sandbox's name. */
  NAMED_GROUPS(
      "docker docker-runsc", "a daemon names them after its containers, and removes them itself"),

  /** Files that outlive a machine; see {@link Carrel#KEEPS_VOLUMES}. */
  VOLUMES("docker-runsc", "gVisor takes no mount that a daemon has not made"),

  /** Machines that start within a tenth of a second, also on a busy host. */
  QUICK_STARTS(
      "runc crun runsc docker docker-runsc",
      "what nobody asked for is only made ahead where a machine starts quickly");

  private final String without;
  private final String why;

  Need(String without, String why) {
    this.without = without;
    this.why = why;
  }

  /** Ends the test that calls it on an engine that has it not. */
  public void require() {
    if (List.of(without.split(" ", -1)).contains(Carrel.ENGINE)) {
      Assumptions.abort(Carrel.ENGINE + " has no " + name() + ": " + why);
    }
  }
}
