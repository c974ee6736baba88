package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.Guest;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** gVisor under the daemon: that it is that, and that the ways in and out of it work. */
@Timeout(120)
final class DockerRunscIT extends MachineTests {
  @RegisterExtension static final OwnDaemon DAEMON = new OwnDaemon();

  @Override
  protected DaemonSettings daemon() {
    return DAEMON.settings();
  }

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new DockerRunscEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void machineIsGvisorsAndDoesWhatMachinesDo() throws Exception {
    Machine machine = start();
    Guest guest = Guest.of(machine);

    assertThat(machine.isolation().strength()).isEqualTo(Isolation.Strength.GVISOR);
    assertThat(engine().capabilities().runtime()).contains("runsc");
    assertThat(Finished.shell(guest, "uname -r").stdout().strip())
        .isNotEqualTo(Files.readString(Path.of("/proc/sys/kernel/osrelease")).strip());
    guest.files().write(FileWrite.to("file"), "kept".getBytes(StandardCharsets.UTF_8));
    assertThat(Finished.shell(guest, "cat file; id -u; echo x > /tmp/x && cat /tmp/x").stdout())
        .isEqualTo("kept1000\nx\n");
    assertThat(Finished.shell(guest, "echo x > /usr/x").code()).isNotZero();
    machine.pause();
    assertThat(machine.paused()).isTrue();
    engine().close();
    try (Engine next = newEngine()) {
      Machine again = next.recover().getFirst();
      assertThat(again.paused()).isTrue();
      again.resume();
      assertThat(Finished.shell(Guest.of(again), "cat file").stdout()).isEqualTo("kept");
      again.destroy();
    }
    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void volumeIsRefusedAndTheEngineSaysSo() {
    assertThat(engine().volumes()).isEmpty();
    assertThat(engine().capabilities().problems()).anyMatch(text -> text.contains("outlive"));
    var spec = new MachineSpec(new RootImage.Host(), spec().limits(), null, VolumeId.random());

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine().start(SandboxId.random(), spec))
        .extracting(SandboxException::code)
        .isEqualTo(ErrorCode.NOT_SUPPORTED);
  }
}
