package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.Context;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecOutput;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What stands still and goes on, where the kernel can make it so. */
final class PauseIT {
  private final HeldEngine engine = new HeldEngine();
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture =
        new ControlFixture(
            "native",
            settings ->
                settings.withSandboxes(
                    settings.sandboxes().withWatch(Duration.ofDays(1), Duration.ofMillis(50))),
            engine::around);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aPausedSandboxUsesNoCpuAndGoesOnAtTheNextCall() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    ExecStream counting =
        fixture
            .control()
            .execs()
            .start(
                ALICE,
                sandbox.id(),
                ExecStart.of(Command.shell("while :; do echo; done > /tmp/count")).inBackground());
    Machine machine = sandboxes().requireRunning(ALICE, sandbox.id()).machine();

    assertThat(sandboxes().pause(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.PAUSED);
    assertThat(sandboxes().pause(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.PAUSED);
    long before = machine.usage().cpuNanos();
    fixture.restart();
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.PAUSED);
    assertThat(machine.usage().cpuNanos() - before).isLessThan(Duration.ofMillis(20).toNanos());

    assertThat(text(code(sandbox, "x + 1"))).isEqualTo("42");
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
    assertThat(fixture.control().execs().get(ALICE, sandbox.id(), counting.id()).running())
        .isTrue();
    assertThat(sandboxes().journal(ALICE, sandbox.id()))
        .extracting(Transition::to)
        .containsExactly(SandboxStatus.RUNNING, SandboxStatus.PAUSED, SandboxStatus.RUNNING);
  }

  @Test
  void aCommandThatEndsWithItsReaderLetsAPausedSandboxStandStill() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    ExecId exec;
    try (ExecStream shell =
        fixture
            .control()
            .execs()
            .start(ALICE, sandbox.id(), ExecStart.of(Command.shell("sleep 1000")).inBackground())
            .killedAtClose()) {
      exec = shell.id();
      sandboxes().pause(ALICE, sandbox.id());
    }
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.PAUSED);
    sandboxes().resume(ALICE, sandbox.id());
    eventually(() -> !fixture.control().execs().get(ALICE, sandbox.id(), exec).running());
  }

  @Test
  void whatAServerFoundPausedAndNeverSawGoOnEndsWithItsSandbox() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    ExecId exec = background(sandbox, "sleep 1000");
    sandboxes().pause(ALICE, sandbox.id());
    fixture.restart();

    assertThat(output(sandbox, exec).running()).isTrue();
    notJoined(() -> fixture.control().execs().result(ALICE, sandbox.id(), exec));
    notJoined(() -> fixture.control().execs().follow(ALICE, sandbox.id(), exec, 0));
    Context found = fixture.control().contexts().list(ALICE, sandbox.id()).getFirst();

    sandboxes().stop(ALICE, sandbox.id());
    sandboxes().start(ALICE, sandbox.id());
    assertThat(text(code(sandbox, "1 + 1"))).isEqualTo("2");
    assertThat(text(code(sandbox, "2 + 1"))).isEqualTo("3");
    assertThat(fixture.control().contexts().list(ALICE, sandbox.id()))
        .extracting(Context::id)
        .containsExactly(found.id());
    eventually(() -> !fixture.control().execs().get(ALICE, sandbox.id(), exec).running());
    ExecResult ended = fixture.control().execs().result(ALICE, sandbox.id(), exec);
    assertThat(ended.cause()).isEqualTo(ExecEvent.Cause.SANDBOX_LOST);
    assertThat(output(sandbox, exec).running()).isFalse();
  }

  @Test
  void whoComesWhileItGoesOnAfterARestartFindsItsState() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    sandboxes().pause(ALICE, sandbox.id());
    fixture.restart();
    var work = new ArrayList<Callable<String>>();
    for (int i = 0; i < 10; i++) {
      work.add(() -> text(code(sandbox, "x + 1")));
    }
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      for (var result : pool.invokeAll(work)) {
        assertThat(result.get()).isEqualTo("42");
      }
    }
    assertThat(fixture.control().contexts().list(ALICE, sandbox.id())).hasSize(1);
  }

  @Test
  void whoAsksAgainForWhatStandsStillLetsItGoOn() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    ExecStart command =
        ExecStart.of(Command.shell("until test -e go; do sleep 0.02; done; echo on"))
            .withKey(new RequestKey("command", "same"), 0);
    ExecuteCode code =
        ExecuteCode.of(
                Language.PYTHON,
                "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\n7")
            .withKey(new RequestKey("code", "same"));
    fixture.control().execs().start(ALICE, sandbox.id(), command).close();
    fixture.control().contexts().start(ALICE, sandbox.id(), code).close();

    sandboxes().pause(ALICE, sandbox.id());
    try (ExecStream again = fixture.control().execs().start(ALICE, sandbox.id(), command)) {
      assertThat(again.isReplay()).isTrue();
      assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
      sandboxes().pause(ALICE, sandbox.id());
      fixture.control().contexts().start(ALICE, sandbox.id(), code).close();
      assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
      run(sandbox, "touch go");
      assertThat(again.result().stdout().text()).isEqualTo("on\n");
    }
    assertThat(text(fixture.control().contexts().execute(ALICE, sandbox.id(), code)))
        .isEqualTo("7");

    // What is over is told without waking anything.
    sandboxes().pause(ALICE, sandbox.id());
    fixture.control().execs().start(ALICE, sandbox.id(), command).close();
    fixture.control().contexts().start(ALICE, sandbox.id(), code).close();
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.PAUSED);
  }

  @Test
  void whoLeavesWhileItGoesOnAfterARestartTakesNothingAlong() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    ExecId exec = background(sandbox, "until test -e go; do sleep 0.02; done; exit 7");
    sandboxes().pause(ALICE, sandbox.id());
    fixture.restart();

    Thread leaving =
        Thread.ofVirtual()
            .start(
                () -> {
                  Thread.currentThread().interrupt();
                  sandboxes().requireRunning(ALICE, sandbox.id());
                });
    leaving.join();

    CodeResult found = code(sandbox, "x + 1");
    assertThat(text(found)).isEqualTo("42");
    assertThat(found.hint()).isNull();
    run(sandbox, "touch go");
    try (ExecStream stream = fixture.control().execs().follow(ALICE, sandbox.id(), exec, 0)) {
      assertThat(stream.result().exitCode()).isEqualTo(7);
    }
  }

  @Test
  void whatCouldNotBeJoinedAtOnceIsJoinedAMomentLater() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    sandboxes().pause(ALICE, sandbox.id());
    fixture.restart();
    sql("ALTER TABLE context RENAME TO away");
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var result = pool.submit(() -> text(code(sandbox, "x + 1")));
      assertThatExceptionOfType(TimeoutException.class)
          .isThrownBy(() -> result.get(1, TimeUnit.SECONDS));
      sql("ALTER TABLE away RENAME TO context");
      assertThat(result.get()).isEqualTo("42");
    }
  }

  @Test
  void whatCouldNotBeJoinedAtAllIsNotTakenForNew() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    sandboxes().pause(ALICE, sandbox.id());
    fixture.restart();
    sql("ALTER TABLE context RENAME TO away");
    sandboxes().resume(ALICE, sandbox.id());
    sql("ALTER TABLE away RENAME TO context");

    CodeResult fresh = code(sandbox, "1 + 1");
    assertThat(text(fresh)).isEqualTo("2");
    assertThat(fresh.hint()).contains("started anew");
  }

  @Test
  void commandThatCouldNotBeJoinedWhenItsSandboxWentOnIsJoinedLater() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    ExecId left = background(sandbox, "until test -e go; do sleep 0.02; done; exit 7");
    sandboxes().pause(ALICE, sandbox.id());
    fixture.restart();
    sql("ALTER TABLE context RENAME TO away");
    sandboxes().resume(ALICE, sandbox.id());
    sql("ALTER TABLE away RENAME TO context");
    ExecId fresh = background(sandbox, "sleep 1000");
    code(sandbox, "x = 41");

    eventually(() -> isJoined(sandbox, left));

    run(sandbox, "touch go");
    try (ExecStream stream = fixture.control().execs().follow(ALICE, sandbox.id(), left, 0)) {
      assertThat(stream.result().exitCode()).isEqualTo(7);
    }
    assertThat(fixture.control().execs().get(ALICE, sandbox.id(), fresh).running()).isTrue();
    assertThat(text(code(sandbox, "x + 1"))).isEqualTo("42");
  }

  private boolean isJoined(Sandbox sandbox, ExecId exec) {
    try (ExecStream _ = fixture.control().execs().follow(ALICE, sandbox.id(), exec, 0)) {
      return true;
    } catch (SandboxException e) {
      assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE);
      return false;
    }
  }

  private ExecId background(Sandbox sandbox, String line) throws InterruptedException {
    ExecStart request = ExecStart.of(Command.shell(line)).inBackground();
    try (ExecStream stream = fixture.control().execs().start(ALICE, sandbox.id(), request)) {
      return stream.id();
    }
  }

  private void sql(String statement) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement run = connection.createStatement()) {
      run.execute("PRAGMA busy_timeout = 10000");
      run.execute(statement);
    }
  }

  @Test
  void aPauseOfWhichNobodyKnowsDoesNotStay() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    RunningSandbox live = sandboxes().requireRunning(ALICE, sandbox.id());
    var done = new AtomicBoolean();
    engine.loseAnswerOfPause(() -> live.whenAwake(() -> done.set(true)));

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> sandboxes().pause(ALICE, sandbox.id()))
        .withMessageContaining("the answer was lost");

    assertThat(done).as("what has waited for it to be awake").isTrue();

    assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
    assertThat(sandboxes().requireRunning(ALICE, sandbox.id()).machine().paused()).isFalse();
    assertThat(run(sandbox, "echo on").stdout().text()).isEqualTo("on\n");
  }

  @Test
  void oneThatMayNotGoOnIsHeldAsSoonAsThatCanBeDone() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    RunningSandbox live = sandboxes().requireRunning(ALICE, sandbox.id());
    var asked = new AtomicInteger();
    engine.loseAnswerOfPause(asked::incrementAndGet);

    sandboxes().life().freezing().tripped(live, "BAIT");

    eventually(() -> asked.get() > 2);
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.RUNNING);
    engine.answerPauses();
    eventually(() -> status(sandbox) == SandboxStatus.PAUSED);
    assertThat(live.machine().paused()).isTrue();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(sandbox, "echo on"))
        .withMessageContaining("frozen");
    sandboxes().resume(ALICE, sandbox.id());
    assertThat(run(sandbox, "echo on").stdout().text()).isEqualTo("on\n");
  }

  @Test
  void oneThatGoesOnAndOfWhichThatCannotBeWrittenDownIsHeldAgain() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    Machine machine = sandboxes().requireRunning(ALICE, sandbox.id()).machine();
    sandboxes().pause(ALICE, sandbox.id());
    sql(
        "CREATE TRIGGER broken BEFORE INSERT ON transition WHEN NEW.to_status = 'running'"
            + " BEGIN SELECT RAISE(ABORT, 'broken'); END");

    assertThatException().isThrownBy(() -> run(sandbox, "echo on"));

    assertThat(status(sandbox)).isEqualTo(SandboxStatus.PAUSED);
    assertThat(machine.paused()).isTrue();
    sql("DROP TRIGGER broken");
    assertThat(run(sandbox, "echo on").stdout().text()).isEqualTo("on\n");
  }

  @Test
  void aCellThatNobodyReadsKeepsNothingOnceItsSandboxHasEnded() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    try (CodeStream _ =
        fixture
            .control()
            .contexts()
            .start(
                ALICE,
                sandbox.id(),
                new ExecuteCode(
                    "import sys\nwhile True: print('x' * 100000); open('/tmp/in', 'a').write('.')",
                    Language.PYTHON,
                    null,
                    Duration.ofMinutes(1)))) {
      var before = new AtomicLong();
      var since = new AtomicLong();
      // Until its output has had nowhere to go for a while.
      eventually(
          () -> {
            long now = size(sandbox, "/tmp/in");
            if (now <= 0 || before.getAndSet(now) != now) {
              since.set(System.nanoTime());
            }
            return System.nanoTime() - since.get() > Duration.ofMillis(500).toNanos();
          });
      sandboxes().pause(ALICE, sandbox.id());
    }
    sandboxes().stop(ALICE, sandbox.id());
    sandboxes().start(ALICE, sandbox.id());

    assertThat(text(code(sandbox, "6 * 7"))).isEqualTo("42");
  }

  @Test
  void manyWhoComeAtOnceResumeItOnceAndNoneFails() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    for (int round = 0; round < 5; round++) {
      sandboxes().pause(ALICE, sandbox.id());
      var work = new ArrayList<Callable<ExecResult>>();
      for (int i = 0; i < 20; i++) {
        work.add(() -> run(sandbox, "echo here"));
      }
      try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
        for (var result : pool.invokeAll(work)) {
          assertThat(result.get().stdout().text()).isEqualTo("here\n");
        }
      }
    }
    assertThat(sandboxes().journal(ALICE, sandbox.id())).hasSize(1 + 2 * 5);
  }

  @Test
  void anIdleOneIsPausedAndNobodyWhoComesAtThatMomentFails() throws Exception {
    Sandbox sandbox =
        sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults()
                    .withStorage(CreateSandbox.Storage.EPHEMERAL)
                    .withExpiry(CreateSandbox.Expiry.idle(1, null)));
    assertThat(sandbox.expiry().onIdle()).isEqualTo(OnIdle.PAUSE);
    run(sandbox, "echo kept > file");
    for (int round = 0; round < 2; round++) {
      eventually(() -> status(sandbox) == SandboxStatus.PAUSED);
      assertThat(run(sandbox, "cat file").stdout().text()).isEqualTo("kept\n");
    }
  }

  @Test
  void cpuUseKeepsItFromBeingIdle() throws Exception {
    Sandbox working =
        sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(1, OnIdle.PAUSE)));
    // Left behind by a command that has ended: nobody waits for it, but it works.
    run(working, "(timeout 8 sh -c 'while :; do :; done' >/dev/null 2>&1 &)");
    Sandbox idle =
        sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults().withExpiry(CreateSandbox.Expiry.idle(1, OnIdle.PAUSE)));
    eventually(() -> status(idle) == SandboxStatus.PAUSED);
    assertThat(status(working)).isEqualTo(SandboxStatus.RUNNING);
    eventually(() -> status(working) == SandboxStatus.PAUSED);
  }

  @Test
  void aPausedSandboxIsStoppedInOrderDeletedAndCopied() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo kept > file");
    run(sandbox, "(trap 'echo asked > asked' TERM; sleep 1000 & wait) & sleep 0.2");
    sandboxes().pause(ALICE, sandbox.id());
    Snapshot snapshot = sandboxes().snapshots().create(ALICE, sandbox.id(), null);
    assertThat(status(sandbox)).isEqualTo(SandboxStatus.PAUSED);
    assertThat(sandboxes().stop(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.STOPPED);
    sandboxes().start(ALICE, sandbox.id());
    assertThat(run(sandbox, "cat file").stdout().text()).isEqualTo("kept\n");
    sandboxes().pause(ALICE, sandbox.id());
    sandboxes().snapshots().restore(ALICE, sandbox.id(), snapshot.id());
    assertThat(run(sandbox, "cat file").stdout().text()).isEqualTo("kept\n");
    sandboxes().pause(ALICE, sandbox.id());
    sandboxes().delete(ALICE, sandbox.id());
    sandboxes().snapshots().delete(ALICE, snapshot.id());
  }

  @Test
  void aCellOfAPausedSandboxIsInterruptedWhenItGoesOnAndItsStateIsKept() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var slow =
          pool.submit(
              () ->
                  fixture
                      .control()
                      .contexts()
                      .execute(
                          ALICE,
                          sandbox.id(),
                          new ExecuteCode(
                              "open('/tmp/in', 'w')\nimport time\ntime.sleep(1000)",
                              Language.PYTHON,
                              null,
                              Duration.ofSeconds(5))));
      eventually(() -> exists(sandbox, "/tmp/in"));
      sandboxes().pause(ALICE, sandbox.id());
      assertThatExceptionOfType(TimeoutException.class)
          .isThrownBy(() -> slow.get(6, TimeUnit.SECONDS));
      sandboxes().resume(ALICE, sandbox.id());
      assertThat(slow.get().timedOut()).isTrue();
    }
    assertThat(text(code(sandbox, "x + 1"))).isEqualTo("42");
  }

  @Test
  void limitsChangeWhileItRuns() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    Sandbox patched =
        sandboxes()
            .patch(
                ALICE,
                sandbox.id(),
                new PatchSandbox(
                    new CreateSandbox.Size(256L, 0.5, null, 64),
                    new CreateSandbox.Expiry(null, null, null),
                    CreateSandbox.Network.DEFAULT,
                    null,
                    null));
    assertThat(patched.limits().memory().mebibytes()).isEqualTo(256);
    assertThat(patched.limits().pids()).isEqualTo(64);
    assertThat(measures(patched)).contains("268435456 bytes").contains("64 processes");
    assertThat(run(sandbox, "for i in $(seq 100); do sleep 5 & done; true").exitCode()).isNotZero();
    fixture.restart();
    assertThat(sandboxes().get(ALICE, sandbox.id()).limits()).isEqualTo(patched.limits());
    assertThat(measures(sandboxes().get(ALICE, sandbox.id()))).isEqualTo(measures(patched));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                sandboxes()
                    .patch(
                        ALICE,
                        sandbox.id(),
                        new PatchSandbox(
                            new CreateSandbox.Size(null, null, null, null),
                            new CreateSandbox.Expiry(null, null, null),
                            CreateSandbox.Network.DEFAULT,
                            Map.of("A", "b"),
                            null)))
        .matches(e -> e.code() == ErrorCode.WRONG_STATE);
  }

  private static String measures(Sandbox sandbox) {
    return String.valueOf(sandbox.isolation());
  }

  private static void notJoined(ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == ErrorCode.WRONG_STATE);
  }

  private ExecOutput output(Sandbox sandbox, ExecId exec) {
    return fixture.control().execs().output(ALICE, sandbox.id(), exec, 0, 1000);
  }

  private boolean exists(Sandbox sandbox, String path) {
    return size(sandbox, path) >= 0;
  }

  /** -1: there is none. */
  private long size(Sandbox sandbox, String path) {
    try {
      return fixture.control().files().stat(ALICE, sandbox.id(), path).size();
    } catch (SandboxException e) {
      return -1;
    }
  }

  private Sandboxes sandboxes() {
    return fixture.control().sandboxes();
  }

  private SandboxStatus status(Sandbox sandbox) {
    return sandboxes().get(ALICE, sandbox.id()).status();
  }

  private ExecResult run(Sandbox sandbox, String line) throws InterruptedException {
    return fixture.control().execs().run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line)));
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

  private static String text(CodeResult result) {
    var bundle = result.result();
    return bundle == null ? "" : bundle.find("text/plain").orElseThrow().text();
  }
}
