package dev.carrel.engine.oci;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.Hierarchies;
import dev.carrel.spi.Isolation.Strength;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
    return switch (this) {
      case RUNC -> List.of();
      case CRUN -> List.of("--cgroup-manager=cgroupfs");
      // It reaches sockets of the host only where it is told to, and then only bound ones.
      case RUNSC -> List.of("--network=none", "--host-uds=all");
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
   * Never from the caller's PATH: what it names runs as root.
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

  /** Whether machines get ids of their own. gVisor's kernel is a stranger to the host's anyway. */
  boolean mapsIds() {
    return this != RUNSC;
  }

  /** Crun takes both versions of control groups at once for an error. */
  Optional<Path> hides(Hierarchies hierarchies) {
    return this == CRUN ? hierarchies.hybrid() : Optional.empty();
  }

  /**
   * What a machine of this runtime never has, or never shows, for a reason that no host can mend.
   */
  Set<String> neverHas() {
    return this == RUNSC ? Gvisor.NEVER_HAS : Set.of();
  }
}
