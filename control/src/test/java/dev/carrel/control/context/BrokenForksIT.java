package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ChangedMachines;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
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

  @Test
  void cellInLineStartsAnInterpreterOfItsOwnWhenTheOneItWaitedForNeverCame() throws Exception {
    var asked = new CountDownLatch(1);
    var failing = new CountDownLatch(1);
    var first = new AtomicBoolean(true);
    Fork once =
        () -> {
          if (first.getAndSet(false)) {
            asked.countDown();
            failing.await();
            throw new SandboxException(ErrorCode.GUEST_LOST, "the guest gave no answer");
          }
          throw new SandboxException(ErrorCode.ENGINE_FAILED, "the spawn server gave no answer");
        };
    try (var fixture =
            new ControlFixture("process", settings -> settings, engine -> withForks(engine, once));
        var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Contexts contexts = fixture.control().contexts();
      Sandbox sandbox = fixture.sandbox();
      Callable<CodeResult> cell =
          () -> contexts.execute(ALICE, sandbox.id(), ExecuteCode.of(Language.PYTHON, "1 + 1"));
      Future<CodeResult> refused = pool.submit(cell);
      asked.await();
      Future<CodeResult> inLine = pool.submit(cell);
      eventually(() -> contexts.list(ALICE, sandbox.id()).getFirst().queued() == 1);
      failing.countDown();

      assertThatExceptionOfType(ExecutionException.class).isThrownBy(refused::get);
      assertThat(inLine.get().success()).isTrue();
    }
  }

  private static Engine withoutForks(Engine engine) {
    return withForks(
        engine,
        () -> {
          throw new SandboxException(ErrorCode.ENGINE_FAILED, "the spawn server gave no answer");
        });
  }

  private static Engine withForks(Engine engine, Fork fork) {
    return ChangedMachines.of(
        engine,
        (_, method) -> {
          if (method.equals("fork")) {
            fork.attempt();
          }
        });
  }

  private interface Fork {
    void attempt() throws InterruptedException;
  }
}
