package dev.carrel.control.admission;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.Command;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
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

  @Test
  void aCallWhoseSandboxWasPausedWhileItWaitedLetsItGoOn() throws Exception {
    var code = ExecuteCode.of(Language.PYTHON, "6 * 7");
    fixture.control().contexts().execute(ALICE, other, code);
    try (ExecStream first = start(one, LONG)) {
      first.next();
      FutureTask<ExecResult> command = begin(() -> run(other, Command.of("echo", "in")));
      FutureTask<CodeResult> cell =
          begin(() -> fixture.control().contexts().execute(ALICE, other, code));
      eventually(() -> execution().waiting() == 2);
      sandboxes().pause(ALICE, other);
      end(first);
      assertThat(soon(command).stdout().text()).isEqualTo("in\n");
      assertThat(soon(cell).success()).isTrue();
    }
    assertThat(sandboxes().get(ALICE, other).status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void aCallWhoseSandboxBeganAnewWhileItWaitedRunsInTheNewOne() throws Exception {
    try (ExecStream first = start(one, LONG)) {
      first.next();
      FutureTask<ExecResult> command = begin(() -> run(other, Command.of("echo", "in")));
      eventually(() -> execution().waiting() == 1);
      sandboxes().stop(ALICE, other);
      sandboxes().start(ALICE, other);
      end(first);
      assertThat(soon(command).stdout().text()).isEqualTo("in\n");
    }
    // As work of the machine that ran it.
    eventually(() -> sandboxes().get(ALICE, other).counters().execCount() == 1);
  }

  private static void end(ExecStream stream) {
    stream.close();
  }

  private static <T> T soon(FutureTask<T> task) throws Exception {
    return task.get(15, TimeUnit.SECONDS);
  }

  private static <T> FutureTask<T> begin(Callable<T> call) {
    var task = new FutureTask<>(call);
    Thread.ofVirtual().start(task);
    return task;
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
