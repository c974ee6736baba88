package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.guest.Guest;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** An engine on a run directory of its own, and machines that are gone after each test. */
public abstract class MachineTests {
  private final ConcurrentLinkedQueue<Machine> machines = new ConcurrentLinkedQueue<>();
  private Path runDirectory = Path.of("");
  private @Nullable Engine engine;

  /** A new engine, as a new server process would make it; called again on the same directory. */
  protected abstract Engine openEngine(EngineSettings settings);

  /** Whether this engine separates machines from the host and from each other. */
  protected abstract boolean isolates();

  /** Measures that this host may lack without the tests failing; each must then be reported. */
  protected Set<String> allowMissing() {
    return Set.of();
  }

  /** Where an engine that needs a daemon finds it. */
  protected DaemonSettings daemon() {
    return DaemonSettings.usual();
  }

  /** What is started where a test asks for a spec. */
  protected MachineSpec prepared(MachineSpec spec) {
    return spec;
  }

  /** Where the engine keeps its state: short, for the sake of socket paths. */
  protected Path newRunDirectory() throws IOException {
    return Files.createTempDirectory("carrel-");
  }

  @BeforeEach
  void openEngineForTest() throws IOException {
    runDirectory = newRunDirectory();
    engine = newEngine();
    assertThat(engine.capabilities().usable())
        .as("usable: %s", engine.capabilities().problems())
        .isTrue();
  }

  @AfterEach
  void leaveNothing() {
    machines.forEach(Machine::destroy);
    engine().close();
    List<String> ids = machines.stream().map(machine -> machine.id().value()).toList();
    assertThat(Leftovers.of(ids, runDirectory)).isEmpty();
    Eventually.holds(
        "no loop device is left",
        Duration.ofSeconds(30),
        () -> Leftovers.loops(runDirectory()).isEmpty());
    Leftovers.delete(runDirectory);
  }

  protected final Engine engine() {
    if (engine == null) {
      throw new IllegalStateException("no test runs");
    }
    return engine;
  }

  protected final Path runDirectory() {
    return runDirectory;
  }

  /** Another engine on the same run directory; the caller closes it. */
  protected final Engine newEngine() {
    return openEngine(settings());
  }

  final EngineSettings settings() {
    String lib = System.getProperty("carrel.lib");
    if (lib == null) {
      throw new IllegalStateException("system property carrel.lib names the guest's folder");
    }
    return new EngineSettings(
        runDirectory,
        runDirectory.resolve("volumes"),
        Path.of(lib),
        allowMissing(),
        WarmSettings.defaults(),
        daemon());
  }

  /** What the tests start unless they say otherwise. */
  protected static MachineSpec spec() {
    var limits = new Limits(DataSize.ofMebibytes(256), 1, 128, DataSize.ofMebibytes(64), 1024);
    return new MachineSpec(new RootImage.Host(), limits, null, null);
  }

  protected static MachineSpec withLimits(Limits limits) {
    return new MachineSpec(new RootImage.Host(), limits, null, null);
  }

  /** A machine that is destroyed at the end of the test. */
  protected final Machine start() {
    return start(spec());
  }

  protected final Machine start(MachineSpec spec) {
    Machine machine = engine().start(SandboxId.random(), prepared(spec));
    machines.add(machine);
    return machine;
  }

  protected final Guest startGuest() {
    return Guest.of(start());
  }

  /** Whether the machine says that this was applied; an engine must at least mention it. */
  protected static boolean applied(Machine machine, String measure) {
    return measure(machine, measure).applied();
  }

  /** How it says that this was applied, or why it was not. */
  protected static String detail(Machine machine, String measure) {
    return measure(machine, measure).detail();
  }

  private static Isolation.Measure measure(Machine machine, String measure) {
    List<Isolation.Measure> named =
        machine.isolation().measures().stream().filter(m -> m.name().equals(measure)).toList();
    assertThat(named).as("measure %s is reported", measure).hasSize(1);
    assertThat(named.getFirst().detail()).as("how or why not: %s", measure).isNotBlank();
    return named.getFirst();
  }
}
