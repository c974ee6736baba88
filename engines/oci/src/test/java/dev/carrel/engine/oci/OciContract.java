package dev.carrel.engine.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.testkit.EngineContract;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The contract on this host as its root user. */
abstract class OciContract extends EngineContract {
  private final OciRuntime runtime;

  OciContract(OciRuntime runtime) {
    this.runtime = runtime;
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new OciEngine(runtime, settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Override
  protected boolean keepsVolumes() {
    return true;
  }

  @Override
  protected boolean showsProcesses() {
    return runtime != OciRuntime.RUNSC;
  }

  /** gVisor keeps them in its own memory, wherever they are made. */
  @Override
  protected boolean keepsNamedPipes() {
    return runtime != OciRuntime.RUNSC;
  }

  /** Beside it, its companion and what the runtime keeps have the sandbox's id too. */
  @Override
  protected ProcessHandle guestProcess(Machine machine) {
    Path run = runDirectory();
    HostProcess first = MachineFolder.in(runtime, run, machine.id()).writtenPid().orElseThrow();
    assertThat(first.alive()).isTrue();
    return ProcessHandle.of(first.pid()).orElseThrow();
  }

  /** Version 1 of control groups counts them only where it is told to, and runtimes do not tell. */
  @Test
  void buffersOfSocketsHaveTheLimitOfMemory() throws Exception {
    Machine machine = start();
    Path group = Path.of("/sys/fs/cgroup/memory" + Bundle.groupOf(machine.id()));
    Path file = group.resolve("memory.kmem.tcp.limit_in_bytes");
    assumeThat(file).exists();

    assertThat(Files.readString(file).strip())
        .isEqualTo(Long.toString(machine.limits().memory().bytes()));
  }

  /** As the command has that asked for the removal, or as anybody has who knows the id. */
  @Test
  void strangersWithItsIdAsAnArgumentAreLeftAlone() throws Exception {
    Machine machine = start();
    String id = machine.id().value();
    Process stranger =
        new ProcessBuilder("sh", "-c", "read line", "rm", id, runDirectory() + "/" + id).start();
    try {
      machine.destroy();

      assertThat(stranger.isAlive()).isTrue();
      assertThat(runDirectory().resolve(id)).doesNotExist();
    } finally {
      stranger.destroyForcibly().waitFor();
    }
  }
}
