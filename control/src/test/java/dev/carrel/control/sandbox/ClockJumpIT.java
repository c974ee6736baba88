package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody sets the host's clock: nothing ends early, nothing lives on for ever. */
final class ClockJumpIT {
  private static final CreateSandbox LONG =
      CreateSandbox.defaults().withExpiry(new CreateSandbox.Expiry(1800L, OnIdle.STOP, 1800L));
  private static final CreateSandbox BRIEF =
      CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(1, OnIdle.STOP));
  private static final CreateSandbox MORTAL =
      CreateSandbox.defaults().withExpiry(new CreateSandbox.Expiry(0L, null, 1L));

  private final AtomicReference<Duration> jump = new AtomicReference<>(Duration.ZERO);

  @ParameterizedTest
  @ValueSource(ints = {1, -1})
  void aJumpOfTheClockEndsNothingEarlyAndKeepsNothingForLong(int hours) throws Exception {
    try (var fixture = fixture()) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox before = sandboxes.create(ALICE, LONG);
      List<Sandbox> due = List.of(sandboxes.create(ALICE, BRIEF), sandboxes.create(ALICE, MORTAL));
      jump.set(Duration.ofHours(hours));
      List<Sandbox> dueLater =
          List.of(sandboxes.create(ALICE, BRIEF), sandboxes.create(ALICE, MORTAL));
      Sandbox after = sandboxes.create(ALICE, LONG);

      for (Sandbox sandbox : due) {
        eventually(() -> status(sandboxes, sandbox) == SandboxStatus.STOPPED);
      }
      for (Sandbox sandbox : dueLater) {
        eventually(() -> status(sandboxes, sandbox) == SandboxStatus.STOPPED);
      }
      assertThat(status(sandboxes, before)).isEqualTo(SandboxStatus.RUNNING);
      assertThat(status(sandboxes, after)).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  private static SandboxStatus status(Sandboxes sandboxes, Sandbox sandbox) {
    return sandboxes.get(ALICE, sandbox.id()).status();
  }

  private ControlFixture fixture() throws IOException {
    return new ControlFixture(
        "process",
        settings ->
            settings.withSandboxes(
                settings.sandboxes().withWatch(Duration.ofMinutes(30), Duration.ofMillis(50))),
        engine -> engine,
        new SteadyClock(() -> Instant.now().plus(jump.get()), System::nanoTime));
  }
}
