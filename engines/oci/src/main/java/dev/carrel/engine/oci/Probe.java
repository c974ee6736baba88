package dev.carrel.engine.oci;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.KnownFlaws;
import dev.carrel.engine.host.Measures;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Limits;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/** Finds out what a runtime can do on this host: by a machine that is made, looked at and ended. */
final class Probe {
  /** Excuses every measure: for a machine that is only looked at. */
  static final String ANYTHING = "anything";

  /** Why a server that is not root has none; the words of the engine {@code native}. */
  static final String NO_VOLUMES = "only root can attach loop devices and map their owners";

  private static final long SECONDS = 10;
  private static final Limits SMALL =
      new Limits(DataSize.ofMebibytes(64), 1, 64, DataSize.ofMebibytes(16), 256);

  private final OciRuntime runtime;
  private final Path guestProgram;
  private final Set<String> allowMissing;

  Probe(OciRuntime runtime, Path guestProgram, Set<String> allowMissing) {
    this.runtime = runtime;
    this.guestProgram = guestProgram;
    this.allowMissing = allowMissing;
  }

  /** Whether there can be volumes; measures nothing. */
  boolean keepsVolumes() {
    return runtime.program().isPresent() && HostProcess.isRoot();
  }

  /**
   * Measures.
   *
   * @param notes what else is to be said once a machine was seen
   */
  Capabilities look(Function<MachineSpec, OciMachine> start, Supplier<List<String>> notes) {
    Optional<Path> program = runtime.program();
    if (program.isEmpty()) {
      return unusable(
          runtime.engineName(),
          runtime.engineName() + " is not installed: " + runtime.installedBy());
    }
    String version = version(program.get());
    if (!Files.isExecutable(guestProgram)) {
      return unusable(version, "there is no program " + guestProgram + "; build the guest");
    }
    Isolation isolation;
    try {
      OciMachine machine = start.apply(new MachineSpec(new RootImage.Host(), SMALL, null, null));
      isolation = machine.isolation();
      machine.destroy();
    } catch (SandboxException e) {
      return unusable(version, e.message());
    }
    return judge(version, isolation, notes.get());
  }

  private Capabilities judge(String version, Isolation isolation, List<String> notes) {
    var problems = new ArrayList<>(KnownFlaws.of(runtime.engineName(), version));
    problems.addAll(notes);
    if (!HostProcess.isRoot()) {
      problems.add("files do not outlive their machine: " + NO_VOLUMES);
    }
    boolean usable = true;
    for (Measure measure : isolation.measures()) {
      if (measure.applied() || measure.name().equals(Measures.VOLUME)) {
        continue;
      }
      boolean never = runtime.neverHas().contains(measure.name());
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
    return new Capabilities(runtime.engineName(), version, usable, isolation, problems);
  }

  private Capabilities unusable(String version, String problem) {
    var none = new Isolation(Isolation.Strength.NONE, List.of());
    return new Capabilities(runtime.engineName(), version, false, none, List.of(problem));
  }

  /** Its own words, for example {@code runc version 1.1.5}. */
  private String version(Path program) {
    try {
      Process process =
          new ProcessBuilder(program.toString(), "--version").redirectErrorStream(true).start();
      process.getOutputStream().close();
      if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return runtime.engineName();
      }
      String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return Text.printable(said.lines().findFirst().orElse("").replace("version ", ""), 60);
    } catch (IOException e) {
      return runtime.engineName();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return runtime.engineName();
    }
  }
}
