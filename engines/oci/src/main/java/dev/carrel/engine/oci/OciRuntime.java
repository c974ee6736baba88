package dev.carrel.engine.oci;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.Hierarchies;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.spi.Isolation.Strength;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** The runtimes that are known, and in what they differ. */
enum OciRuntime {
  RUNC(Strength.NAMESPACES),
  CRUN(Strength.NAMESPACES),
  /** gVisor. */
  RUNSC(Strength.GVISOR);

  private static final List<Path> PLACES =
      List.of(
          Path.of("/usr/local/sbin"),
          Path.of("/usr/local/bin"),
          Path.of("/usr/sbin"),
          Path.of("/usr/bin"),
          Path.of("/sbin"),
          Path.of("/bin"));

  private final Strength strength;

  OciRuntime(Strength strength) {
    this.strength = strength;
  }

  private List<String> options() {
    boolean root = HostProcess.isRoot();
    return switch (this) {
      case RUNC -> root ? List.of() : List.of("--rootless=true");
      case CRUN -> List.of("--cgroup-manager=" + (root ? "cgroupfs" : "disabled"));
      // It reaches sockets of the host only where it is told to, and then only bound ones.
      case RUNSC ->
          root
              ? List.of("--network=none", "--host-uds=all")
              : List.of("--network=none", "--host-uds=all", "--rootless", "--ignore-cgroups");
    };
  }

  /** The engine's name and the program's. */
  String engineName() {
    return name().toLowerCase(Locale.ROOT);
  }

  Strength strength() {
    return strength;
  }

  /** Which package has it on Debian and Ubuntu. */
  String installedBy() {
    return "apt-get install " + engineName();
  }

  /**
   * Never from the caller's PATH: what it names may run as root.
   *
   * @return empty where it is not installed
   */
  Optional<Path> program() {
    return PLACES.stream()
        .map(place -> place.resolve(engineName()))
        .filter(Files::isExecutable)
        .findFirst();
  }

  List<String> command(Path program, Path stateDirectory) {
    var command = new ArrayList<String>();
    command.add(program.toString());
    command.addAll(List.of("--root", stateDirectory.toString()));
    command.addAll(options());
    return command;
  }

  /** Crun takes both versions of control groups at once for an error. */
  Optional<Path> hides(Hierarchies hierarchies) {
    return this == CRUN ? hierarchies.hybrid() : Optional.empty();
  }

  /**
   * What a machine of this runtime never has, or never shows, for a reason that no host can mend.
   * The limits of gVisor's machines are of the whole machine, and then there has to be a group.
   */
  Set<String> neverHas() {
    if (this != RUNSC) {
      return Set.of();
    }
    var all = new HashSet<>(Gvisor.NEVER_HAS);
    if (!HostProcess.isRoot()) {
      all.removeAll(Set.of("memory-limit", "pids-limit"));
    }
    return all;
  }
}
