package dev.carrel.control;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Language;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Limits that are really enforced, reached by real code: on the engine that has them. */
final class CausesIT {
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture("native", settings -> settings);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aProcessAtTheMemoryLimitIsToldFromOneThatWasKilled() throws InterruptedException {
    Sandbox sandbox = limited("memory-limit");
    ExecResult itself = run(sandbox, "exec python3 -c 'x = bytearray(500_000_000)'");
    ExecResult child = run(sandbox, "python3 -c 'x = bytearray(500_000_000)'; exit 9");
    ExecResult other = run(sandbox, "kill -KILL $$");

    assertThat(itself.cause()).isEqualTo(Cause.OUT_OF_MEMORY);
    assertThat(itself.hint()).contains("memory_mb");
    assertThat(child.cause()).isEqualTo(Cause.OUT_OF_MEMORY);
    assertThat(child.exitCode()).isEqualTo(9);
    assertThat(other.cause()).isEqualTo(Cause.SIGNALLED);
  }

  @Test
  void anInterpreterAtTheMemoryLimitSaysSoAndIsReplaced() throws InterruptedException {
    Sandbox sandbox = limited("memory-limit");
    CodeResult dead = code(sandbox, "x = bytearray(500_000_000)");
    CodeResult next = code(sandbox, "6*7");

    assertThat(dead.cause()).isEqualTo(Cause.OUT_OF_MEMORY);
    assertThat(dead.state()).isEqualTo(CodeResult.State.LOST);
    assertThat(dead.error()).satisfies(e -> assertThat(e.type()).isEqualTo("OutOfMemory"));
    assertThat(next.success()).isTrue();
  }

  @Test
  void theProcessLimitIsNamed() throws InterruptedException {
    Sandbox sandbox = limited("pids-limit");
    ExecResult result = run(sandbox, "for i in $(seq 1 100); do sleep 30 & done; exit 0");

    assertThat(result.cause()).isEqualTo(Cause.PIDS_LIMIT);
    assertThat(result.hint()).contains("pids");
  }

  private Sandbox limited(String measure) {
    Sandbox sandbox =
        fixture
            .control()
            .sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults().withSize(new CreateSandbox.Size(128L, 1.0, 64L, 64)));
    Isolation isolation = sandbox.isolation();
    assumeTrue(
        isolation != null
            && isolation.measures().stream()
                .anyMatch(applied -> applied.name().equals(measure) && applied.applied()),
        "this host cannot enforce the " + measure);
    return sandbox;
  }

  private ExecResult run(Sandbox sandbox, String line) throws InterruptedException {
    return fixture
        .control()
        .execs()
        .run(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.shell(line).withTimeout(Duration.ofMinutes(1))));
  }

  private CodeResult code(Sandbox sandbox, String code) throws InterruptedException {
    return fixture
        .control()
        .contexts()
        .execute(
            ALICE,
            sandbox.id(),
            new ExecuteCode(code, Language.PYTHON, null, Duration.ofMinutes(1)));
  }
}
