package dev.carrel.engine.docker;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.KnownFlaws;
import dev.carrel.engine.host.Measures;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/** Finds out what the daemon can do: by a machine that is made, looked at and ended. */
final class Probe {
  /** Excuses every measure: for a machine that is only looked at. */
  static final String ANYTHING = "anything";

  private static final Limits SMALL =
      new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(16), 256);

  private final Kind kind;
  private final Daemon daemon;
  private final Path guestProgram;
  private final Set<String> allowMissing;

  Probe(Kind kind, Daemon daemon, Path guestProgram, Set<String> allowMissing) {
    this.kind = kind;
    this.daemon = daemon;
    this.guestProgram = guestProgram;
    this.allowMissing = allowMissing;
  }

  /** Whether there is anything to look at; measures nothing. */
  boolean possible() {
    return daemon.obstacle().isEmpty() && HostProcess.isRoot();
  }

  /**
   * @param start makes a machine to be looked at
   * @param notes what there is to say once one was
   */
  Capabilities look(Function<MachineSpec, Machine> start, Supplier<List<String>> notes) {
    String obstacle = daemon.obstacle();
    if (!obstacle.isEmpty()) {
      return unusable(kind.engineName(), obstacle);
    }
    DaemonInfo info;
    try {
      info = daemon.info();
    } catch (IOException e) {
      return unusable(kind.engineName(), String.valueOf(e.getMessage()));
    }
    Optional<String> runtime = kind.runtime(info);
    String version = version(info, runtime.orElse(""));
    String missing = missing(info, runtime);
    if (!missing.isEmpty()) {
      return unusable(version, missing);
    }
    Isolation isolation;
    try {
      Machine machine = start.apply(new MachineSpec(new RootImage.Host(), SMALL, null, null));
      isolation = machine.isolation();
      machine.destroy();
    } catch (SandboxException e) {
      return unusable(version, e.message());
    }
    return judge(version, info, isolation, notes.get());
  }

  private String missing(DaemonInfo info, Optional<String> runtime) {
    if (runtime.isEmpty()) {
      return kind == Kind.GVISOR
          ? "the daemon knows no runtime 'runsc'; install gVisor and name it under 'runtimes' in the"
              + " daemon's daemon.json, with the runtimeArgs --network=none and --host-uds=all"
          : "the daemon knows neither runc nor crun, only " + info.runtimes();
    }
    if (info.rootless()) {
      return "the daemon runs without root, so that its sandboxes could have no ids of their own;"
          + " the engine 'native' needs no privileges";
    }
    if (!HostProcess.isRoot()) {
      return "it is driven as root only, like the daemon itself; the engine 'native' needs no"
          + " privileges";
    }
    return Files.isExecutable(guestProgram)
        ? ""
        : "there is no program " + guestProgram + "; build the guest";
  }

  /** For example {@code docker 20.10.24, runc 1.1.5}. */
  private static String version(DaemonInfo info, String runtime) {
    String number = info.parts().getOrDefault(runtime, "");
    return info.name()
        + " "
        + info.version()
        + (runtime.isEmpty() ? "" : (", " + runtime + " " + number).stripTrailing());
  }

  Capabilities judge(String version, DaemonInfo info, Isolation isolation, List<String> notes) {
    var problems = new ArrayList<>(notes);
    problems.addAll(KnownFlaws.of(info.name(), info.name() + " " + info.version()));
    info.parts().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .filter(part -> kind == Kind.NAMESPACES || part.getKey().equals("containerd"))
        .forEach(
            part ->
                problems.addAll(
                    KnownFlaws.of(part.getKey(), part.getKey() + " " + part.getValue())));
    boolean usable = true;
    for (Measure measure : isolation.measures()) {
      if (measure.applied() || measure.name().equals(Measures.VOLUME)) {
        continue;
      }
      boolean never = kind.neverHas().contains(measure.name());
      boolean allowed = allowMissing.contains(measure.name());
      usable &= never || allowed;
      problems.add(
          measure.name()
              + (never ? ": " : " cannot be applied: ")
              + measure.detail()
              + (allowed
                  ? " (allowed)"
                  : never ? "" : "; allow its absence with native.allow-missing or mend it"));
    }
    if (!kind.keepsVolumes()) {
      problems.add(
          "files cannot outlive a sandbox: a volume cannot be put into a container of gVisor; the"
              + " engines 'runsc' and 'docker' have them");
    }
    return new Capabilities(kind.engineName(), version, usable, isolation, problems);
  }

  private Capabilities unusable(String version, String problem) {
    var none = new Isolation(Isolation.Strength.NONE, List.of());
    return new Capabilities(kind.engineName(), version, false, none, List.of(problem));
  }
}
