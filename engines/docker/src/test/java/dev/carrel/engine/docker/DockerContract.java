package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.carrel.engine.host.Hierarchies;
import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The contract with a daemon that the tests start themselves. */
abstract class DockerContract extends EngineContract {
  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  /** Found out once for each kind: it takes a machine, and there is an engine for each test. */
  private static final Map<Kind, Capabilities> MEASURED = new ConcurrentHashMap<>();

  private final Kind kind;

  DockerContract(Kind kind) {
    this.kind = kind;
  }

  @Override
  protected DaemonSettings daemon() {
    return DAEMON.settings();
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    var engine = new DockerEngine(kind, settings, MEASURED.get(kind));
    MEASURED.put(kind, engine.capabilities());
    return engine;
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Override
  protected boolean keepsVolumes() {
    return kind.keepsVolumes();
  }

  @Override
  protected boolean showsProcesses() {
    return kind != Kind.GVISOR;
  }

  @Override
  protected ProcessHandle guestProcess(Machine machine) {
    try {
      MachineFolder folder = MachineFolder.in(kind, runDirectory(), machine.id());
      return ProcessHandle.of(folder.read().first().orElseThrow().pid()).orElseThrow();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Version 1 of control groups counts them only where it is told to, and no daemon tells. */
  @Test
  void buffersOfSocketsHaveTheLimitOfMemory() throws IOException {
    Machine machine = start();
    Map<String, Path> groups =
        Hierarchies.ofThisHost().groupOf(guestProcess(machine).pid()).first();
    assumeThat(groups).containsKey("memory");
    Path group = Objects.requireNonNull(groups.get("memory"));

    assertThat(Files.readString(group.resolve("memory.kmem.tcp.limit_in_bytes")).strip())
        .isEqualTo(Long.toString(machine.limits().memory().bytes()));
  }

  /** Neither of an earlier test nor of the probe that this one's engine has just made. */
  @BeforeEach
  void noContainerIsLeft() throws IOException {
    assertThat(DAEMON.client().list(Map.of())).isEmpty();
  }
}
