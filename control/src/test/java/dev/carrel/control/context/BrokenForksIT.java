package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ChangedMachines;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import org.junit.jupiter.api.Test;

/** An engine that should fork interpreters and cannot even say why not. */
final class BrokenForksIT {
  @Test
  void contextStartsFromScratchWhenItsEngineFailsToFork() throws Exception {
    try (var fixture =
        new ControlFixture("process", settings -> settings, BrokenForksIT::withoutForks)) {
      Sandbox sandbox = fixture.sandbox();

      CodeResult result =
          fixture
              .control()
              .contexts()
              .execute(ALICE, sandbox.id(), ExecuteCode.of(Language.PYTHON, "1 + 1"));

      assertThat(result.success()).isTrue();
      assertThat(fixture.control().telemetry().snapshot()).containsKey("kernel_forks_failed");
    }
  }

  private static Engine withoutForks(Engine engine) {
    return ChangedMachines.of(
        engine,
        (_, method) -> {
          if (method.equals("fork")) {
            throw new SandboxException(ErrorCode.ENGINE_FAILED, "the spawn server gave no answer");
          }
        });
  }
}
