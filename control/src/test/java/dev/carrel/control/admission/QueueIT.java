package dev.carrel.control.admission;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class QueueIT {
  private ControlFixture fixture;
  private SandboxId sandbox;

  @BeforeEach
  void open() throws IOException {
    fixture =
        new ControlFixture(
            settings -> settings.withQueue(new QueueSettings(2, 1, 2, Duration.ofSeconds(20))));
    sandbox = fixture.sandbox().id();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aSecondCommandWaitsForTheFirstAndSaysSo() throws Exception {
    var positions = new ArrayList<Integer>();
    try (ExecStream first = start(Command.of("sleep", "1000"))) {
      first.next();
      FutureTask<ExecResult> second =
          begin(
              () -> {
                try (ExecStream stream =
                    fixture
                        .control()
                        .execs()
                        .start(
                            ALICE,
                            sandbox,
                            ExecStart.of(Command.of("echo", "in")),
                            positions::add)) {
                  return stream.result();
                }
              });
      eventually(() -> execution().waiting() == 1);
      assertThat(execution().own()).singleElement().matches(own -> sandbox.equals(own.sandbox()));
      end(first);
      ExecResult result = second.get();
      assertThat(result.stdout().text()).isEqualTo("in\n");
      assertThat(result.queued()).isPositive();
      assertThat(fixture.control().execs().result(ALICE, sandbox, result.id()).queued())
          .isCloseTo(result.queued(), Duration.ofMillis(1));
    }
    assertThat(positions).containsExactly(1);
    eventually(() -> execution().running() == 0);
  }

  @Test
  void codeWaitsInTheSameLine() throws Exception {
    code();
    try (ExecStream first = start(Command.of("sleep", "1000"))) {
      first.next();
      FutureTask<CodeResult> second = begin(this::code);
      eventually(() -> execution().waiting() == 1);
      end(first);
      assertThat(second.get().queued()).isPositive();
    }
    eventually(() -> execution().running() == 0);
  }

  @Test
  void theTimeInLineIsPartOfTheTimeout() throws Exception {
    try (ExecStream first = start(Command.of("sleep", "1000"))) {
      first.next();
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> start(Command.of("true").withTimeout(Duration.ofMillis(100))).close())
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED)
          .withMessageContaining("100 ms");
      FutureTask<ExecResult> second =
          begin(() -> run(Command.of("sleep", "1000").withTimeout(Duration.ofSeconds(4))));
      eventually(() -> execution().waiting() == 1);
      long since = System.nanoTime();
      eventually(() -> System.nanoTime() - since > Duration.ofSeconds(2).toNanos());
      end(first);
      ExecResult result = second.get();
      assertThat(result.timedOut()).isTrue();
      assertThat(result.duration()).isLessThan(Duration.ofSeconds(4));
      assertThat(result.queued().plus(result.duration())).isGreaterThan(Duration.ofMillis(3900));
    }
  }

  @Test
  void whatLivesAsLongAsItsUserLikesKeepsNoPlace() throws Exception {
    ExecStream background =
        fixture
            .control()
            .execs()
            .start(ALICE, sandbox, ExecStart.of(Command.of("sleep", "1000")).inBackground());
    background.next();
    try (ExecStream terminal =
        start(Command.of("sleep", "1000").withTerminal(new Command.TerminalSize(24, 80)))) {
      terminal.next();
      assertThat(execution().running()).isZero();
      assertThat(run(Command.of("true")).queued()).isZero();
    }
  }

  @Test
  void whatCannotBeginGivesItsPlaceBack() throws Exception {
    assertThat(run(Command.of("no-such-program")).exitCode()).isEqualTo(127);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(Command.of("true").withTimeout(Duration.ofDays(2))));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                fixture
                    .control()
                    .contexts()
                    .execute(
                        ALICE, sandbox, ExecuteCode.of(Language.PYTHON, "x".repeat(20_000_000))));
    eventually(() -> execution().running() == 0);
    assertThat(run(Command.of("true")).exitCode()).isZero();
  }

  @Test
  void aFullLineRefuses() throws Exception {
    try (ExecStream first = start(Command.of("sleep", "1000"))) {
      first.next();
      List<FutureTask<ExecResult>> waiting =
          List.of(begin(() -> run(Command.of("true"))), begin(() -> run(Command.of("true"))));
      eventually(() -> execution().waiting() == 2);
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> run(Command.of("true")))
          .matches(e -> e.code() == ErrorCode.LIMIT_REACHED);
      assertThat(backpressure(ALICE))
          .singleElement()
          .returns(sandbox, Event::sandbox)
          .returns("default", Event::namespace)
          .satisfies(event -> assertThat(event.details()).containsEntry("waiting", "2"));
      end(first);
      for (FutureTask<ExecResult> one : waiting) {
        assertThat(one.get().exitCode()).isZero();
      }
    }
  }

  @Test
  void aStormOfOneTenantsRefusalsHidesNoOthers() throws Exception {
    SandboxId others = fixture.control().sandboxes().create(MALLORY, CreateSandbox.defaults()).id();
    // It has as much as Mallory, who therefore may not have its place in the line.
    try (ExecStream first = start(Command.of("sleep", "1000"))) {
      first.next();
      FutureTask<ExecResult> waiting = begin(() -> run(Command.of("true")));
      eventually(() -> execution().waiting() == 1);
      FutureTask<ExecResult> other = begin(() -> runAsMallory(others));
      eventually(() -> execution().waiting() == 2);
      for (int i = 0; i < 20; i++) {
        assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> run(Command.of("true")));
      }
      assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> runAsMallory(others));

      assertThat(backpressure(ALICE)).hasSizeBetween(1, 19);
      assertThat(backpressure(MALLORY)).hasSize(1);
      end(first);
      assertThat(waiting.get().exitCode()).isZero();
      assertThat(other.get().exitCode()).isZero();
    }
  }

  private ExecResult runAsMallory(SandboxId others) throws InterruptedException {
    return fixture.control().execs().run(MALLORY, others, ExecStart.of(Command.of("true")));
  }

  private List<Event> backpressure(Caller caller) {
    return fixture
        .control()
        .sandboxes()
        .recentEvents(
            caller,
            EventFilter.of(caller.tenant()).withKinds(Set.of(Event.QUEUE_BACKPRESSURE)),
            100);
  }

  @Test
  void theSameKeyMakesOneSandbox() throws Exception {
    var tasks = new ArrayList<FutureTask<Creates.Created>>();
    // More than may wait: those with the same key do not stand in line, but wait for the first.
    for (int i = 0; i < 20; i++) {
      tasks.add(begin(() -> create("k", "same")));
    }
    for (var task : tasks) {
      assertThat(task.get().sandbox().id()).isEqualTo(tasks.getFirst().get().sandbox().id());
    }
    assertThat(tasks.stream().filter(task -> task.resultNow().made())).hasSize(1);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> create("k", "different"))
        .matches(e -> e.code() == ErrorCode.KEY_REUSED);

    Sandbox made = tasks.getFirst().get().sandbox();
    fixture.restart();
    assertThat(create("k", "same").sandbox().id()).isEqualTo(made.id());
    fixture.control().sandboxes().delete(ALICE, made.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> create("k", "same"))
        .matches(e -> e.code() == ErrorCode.RESULT_GONE);
  }

  private Creates.Created create(String key, String digest) throws InterruptedException {
    return fixture
        .control()
        .creates()
        .create(ALICE, CreateSandbox.defaults(), new RequestKey(key, digest), () -> {});
  }

  private Line.Snapshot execution() {
    return fixture.control().queue().snapshot(ALICE.tenant()).getLast();
  }

  private CodeResult code() throws InterruptedException {
    return fixture
        .control()
        .contexts()
        .execute(ALICE, sandbox, ExecuteCode.of(Language.PYTHON, "1"));
  }

  private ExecResult run(Command command) throws InterruptedException {
    return fixture.control().execs().run(ALICE, sandbox, ExecStart.of(command));
  }

  private ExecStream start(Command command) throws InterruptedException {
    return fixture.control().execs().start(ALICE, sandbox, ExecStart.of(command));
  }

  private static void end(ExecStream stream) {
    stream.close();
  }

  private static <T> FutureTask<T> begin(Callable<T> call) {
    var task = new FutureTask<>(call);
    Thread.ofVirtual().start(task);
    return task;
  }
}
