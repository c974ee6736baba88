package dev.carrel.control.admission;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.Command;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One place for all that runs, and sandboxes that stand still. */
@Timeout(120)
final class PausedQueueIT {
  private static final Command LONG = Command.of("sleep", "1000");

  private ControlFixture fixture;
  private SandboxId one;
  private SandboxId other;

  @BeforeEach
  void open() throws IOException {
    fixture =
        new ControlFixture(
            "native",
            settings -> settings.withQueue(new QueueSettings(1, 1, 10, Duration.ofSeconds(20))));
    one = fixture.sandbox().id();
    other = fixture.sandbox().id();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void whatStandsStillKeepsNobodyElseFromRunning() throws Exception {
    try (ExecStream held = start(one, LONG)) {
      held.next();
      sandboxes().pause(ALICE, one);
      assertThat(execution().running()).isZero();
      assertThat(run(other, Command.of("true")).exitCode()).isZero();
      sandboxes().resume(ALICE, one);
      // What had begun does not stand in line again.
      assertThat(execution().running()).isEqualTo(1);
    }
    eventually(() -> execution().running() == 0);
  }

  @Test
  void aPlaceThatWasLentIsNotGivenBackTwice() throws Exception {
    try (ExecStream held = start(one, LONG)) {
      held.next();
      sandboxes().pause(ALICE, one);
      try (ExecStream next = start(other, LONG)) {
        next.next();
        sandboxes().stop(ALICE, one);
        eventually(() -> !fixture.control().execs().get(ALICE, one, held.id()).running());
        assertThat(execution().running()).isEqualTo(1);
      }
    }
    eventually(() -> execution().running() == 0);
  }

  private Sandboxes sandboxes() {
    return fixture.control().sandboxes();
  }

  private Line.Snapshot execution() {
    return fixture.control().queue().snapshot(ALICE.tenant()).getLast();
  }

  private ExecResult run(SandboxId sandbox, Command command) throws InterruptedException {
    return fixture.control().execs().run(ALICE, sandbox, ExecStart.of(command));
  }

  private ExecStream start(SandboxId sandbox, Command command) throws InterruptedException {
    return fixture.control().execs().start(ALICE, sandbox, ExecStart.of(command));
  }
}
