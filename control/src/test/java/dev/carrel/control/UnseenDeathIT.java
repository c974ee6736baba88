package dev.carrel.control;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.engine.testkit.Eventually;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What is told of machines that died while no server ran. */
final class UnseenDeathIT {
  @Test
  void whatEndedAMachineIsToldThoughNoServerRan() throws Exception {
    try (var fixture = new ControlFixture("native", settings -> settings)) {
      Sandbox sandbox = fixture.sandbox();
      ProcessHandle guest = guest(fixture.run().resolve(sandbox.id().value()));
      fixture.control().close();
      guest.destroyForcibly();
      Eventually.holds("it is gone", Duration.ofSeconds(20), () -> !guest.isAlive());

      Control next = fixture.reopen();

      Sandbox failed = next.sandboxes().get(ALICE, sandbox.id());
      assertThat(failed.status()).isEqualTo(SandboxStatus.FAILED);
      assertThat(failed.failure()).satisfies(f -> assertThat(f.cause()).isEqualTo("killed"));
      assertThat(fixture.run().resolve(sandbox.id().value())).doesNotExist();
      assertThat(next.sandboxes().start(ALICE, sandbox.id()).status())
          .isEqualTo(SandboxStatus.RUNNING);
    }
  }

  private static ProcessHandle guest(Path machine) throws IOException {
    return Files.readAllLines(machine.resolve("state")).stream()
        .filter(line -> line.startsWith("child "))
        .map(line -> Long.parseLong(line.split(" ", -1)[1]))
        .reduce((_, last) -> last)
        .flatMap(ProcessHandle::of)
        .orElseThrow();
  }
}
