package dev.carrel.control;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.Context;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.exec.ExecOutput;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.SignalScope;
import dev.carrel.control.sandbox.LifeSettings;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.sandbox.Snapshot;
import dev.carrel.spi.Command;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.Language;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One server ends, another begins: what runs goes on, what is gone is said to be. */
final class RecoveryIT {
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void sandboxesAndFinishedExecsAreFoundAgain() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    ExecResult small = run(sandbox, "echo small; echo err >&2; exit 4");
    ExecResult large = run(sandbox, "seq 1 50000");
    Control next = fixture.restart();

    assertThat(next.sandboxes().get(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.RUNNING);
    ExecResult again = next.execs().result(ALICE, sandbox.id(), small.id());
    assertThat(again.exitCode()).isEqualTo(4);
    assertThat(again.stdout().text()).isEqualTo("small\n");
    assertThat(again.stderr().text()).isEqualTo("err\n");
    assertThat(next.execs().result(ALICE, sandbox.id(), large.id()).stdout())
        .isEqualTo(large.stdout());
    assertThat(run(sandbox, "echo still here").stdout().text()).isEqualTo("still here\n");
  }

  @Test
  void aRunningExecGoesOnAndNothingItSaysIsLost() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    ExecStream stream =
        fixture
            .control()
            .execs()
            .start(
                ALICE,
                sandbox.id(),
                ExecStart.of(
                        Command.shell(
                            "echo before; while [ ! -e go ]; do sleep 0.05; done; echo after; exit"
                                + " 5"))
                    .inBackground());
    eventually(() -> exec(sandbox, stream).outputEnd() == 7);
    fixture.restart();

    assertThat(exec(sandbox, stream).running()).isTrue();
    assertThat(exec(sandbox, stream).arguments()).contains("-c");
    run(sandbox, "touch go");
    eventually(() -> !exec(sandbox, stream).running());
    ExecResult result = fixture.control().execs().result(ALICE, sandbox.id(), stream.id());
    assertThat(result.stdout().text()).isEqualTo("before\nafter\n");
    assertThat(result.exitCode()).isEqualTo(5);
  }

  @Test
  void longOutputIsJoinedWithoutAHoleAcrossARestart() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    ExecStream stream =
        fixture
            .control()
            .execs()
            .start(
                ALICE,
                sandbox.id(),
                ExecStart.of(
                        Command.shell(
                            "seq 1 100000; while [ ! -e go ]; do sleep 0.05; done; seq 100001"
                                + " 110000"))
                    .inBackground());
    eventually(() -> exec(sandbox, stream).outputEnd() == 588_895);
    fixture.restart();
    run(sandbox, "touch go");
    eventually(() -> !exec(sandbox, stream).running());

    var all = new StringBuilder();
    long from = 0;
    ExecOutput piece;
    do {
      piece = fixture.control().execs().output(ALICE, sandbox.id(), stream.id(), from, 1 << 20);
      assertThat(piece.lostBytes()).isZero();
      piece.chunks().forEach(c -> all.append(StandardCharsets.UTF_8.decode(c.bytes())));
      from = piece.next();
    } while (from < piece.end());
    var expected = new StringBuilder();
    for (int i = 1; i <= 110_000; i++) {
      expected.append(i).append('\n');
    }
    assertThat(all.toString()).isEqualTo(expected.toString());
  }

  @Test
  void anExecThatEndedWhileNobodyLookedHasItsResult() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    ExecStream stream =
        fixture
            .control()
            .execs()
            .start(
                ALICE,
                sandbox.id(),
                ExecStart.of(Command.shell("sleep 0.3; echo done; exit 6")).inBackground());
    fixture.restart();
    eventually(() -> !exec(sandbox, stream).running());

    ExecEvent.Exited exited = exec(sandbox, stream).exited();
    assertThat(exited).satisfies(e -> assertThat(e.code()).isEqualTo(6));
    assertThat(fixture.control().execs().result(ALICE, sandbox.id(), stream.id()).stdout().text())
        .isEqualTo("done\n");
  }

  @Test
  void interpretersKeepTheirState() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    fixture.restart();
    CodeResult result = code(sandbox, "x + 1");

    assertThat(result.result())
        .satisfies(b -> assertThat(b.find("text/plain").orElseThrow().text()).isEqualTo("42"));
    assertThat(result.executionCount()).isEqualTo(2);
    assertThat(fixture.control().contexts().list(ALICE, sandbox.id()))
        .singleElement()
        .satisfies(context -> assertThat(context.isDefault()).isTrue());
  }

  @Test
  void anInterpreterInTheMiddleOfACellIsInterruptedAndKept() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "x = 41");
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                code(sandbox, "import time\nopen('started', 'w')\ntime.sleep(1000)");
              } catch (SandboxException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.SHUTTING_DOWN);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    eventually(() -> has(sandbox, "started"));
    fixture.restart();
    CodeResult result = code(sandbox, "x + 1");

    assertThat(result.result())
        .satisfies(b -> assertThat(b.find("text/plain").orElseThrow().text()).isEqualTo("42"));
  }

  @Test
  void aLostInterpreterIsReplacedAndSaidSo() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    code(sandbox, "import os; pid = os.getpid()");
    fixture.control().close();
    List<ProcessHandle> kernels =
        ProcessHandle.allProcesses()
            .filter(
                process ->
                    process.info().commandLine().orElse("").contains("kernel.py")
                        && process
                            .parent()
                            .flatMap(ProcessHandle::parent)
                            .flatMap(guest -> guest.info().commandLine())
                            .orElse("")
                            .contains(sandbox.id().value()))
            .toList();
    kernels.forEach(ProcessHandle::destroyForcibly);
    eventually(() -> kernels.stream().noneMatch(ProcessHandle::isAlive));
    fixture.reopen();
    CodeResult result = code(sandbox, "'pid' in globals()");

    assertThat(result.hint()).contains("started anew");
    assertThat(fixture.control().contexts().list(ALICE, sandbox.id()))
        .extracting(Context::status)
        .containsExactly(Context.Status.IDLE);
  }

  @Test
  void rowsWithoutMachineFailAndMachinesWithoutRowEnd() throws Exception {
    Sandbox lost = fixture.sandbox();
    ExecStream stream =
        fixture
            .control()
            .execs()
            .start(ALICE, lost.id(), ExecStart.of(Command.of("sleep", "1000")).inBackground());
    fixture.control().close();
    // The machine goes, and another one appears that nobody knows.
    SandboxId orphan = SandboxId.random();
    Path lib = Path.of(System.getProperty("carrel.lib"));
    try (Engine engine = ControlFixture.engine("process", fixture.run(), lib)) {
      engine.recover().forEach(Machine::destroy);
      engine.start(orphan, new MachineSpec(new RootImage.Host(), lost.limits(), null, null));
    }
    Control next = fixture.reopen();

    Sandbox failed = next.sandboxes().get(ALICE, lost.id());
    assertThat(failed.status()).isEqualTo(SandboxStatus.FAILED);
    assertThat(failed.failure()).satisfies(f -> assertThat(f.cause()).isEqualTo("lost"));
    eventually(() -> !exec(lost, stream).running());
    assertThat(exec(lost, stream).exited())
        .satisfies(e -> assertThat(e.cause()).isEqualTo(ExecEvent.Cause.SANDBOX_LOST));
    assertThat(next.sandboxes().list(ALICE, SandboxQuery.all()).total()).isEqualTo(1);
    assertThat(
            ProcessHandle.allProcesses()
                .filter(p -> p.info().commandLine().orElse("").contains(orphan.value())))
        .isEmpty();
  }

  @Test
  void whatHasNoOwnerIsRemovedWhenItIsOldEnoughAndNothingElse() throws Exception {
    fixture.close();
    fixture =
        new ControlFixture(
            settings ->
                settings.withSandboxes(
                    settings.sandboxes().withLife(withOrphanMinAge(Duration.ZERO))));
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo kept > file; seq 1 50000");
    Snapshot snapshot = fixture.control().sandboxes().snapshots().create(ALICE, sandbox.id(), null);
    fixture.control().close();
    VolumeId orphan = VolumeId.random();
    Path lib = Path.of(System.getProperty("carrel.lib"));
    try (Engine engine = ControlFixture.engine("process", fixture.run(), lib)) {
      engine.volumes().orElseThrow().copy(snapshot.volume(), orphan);
    }
    Path spills = fixture.data().resolve("execs").resolve(SandboxId.random().value());
    Files.createDirectories(spills);
    Files.writeString(spills.resolve("exaaaaaaaaaaaaaa.out"), "of a sandbox that is gone");
    Control next = fixture.reopen();

    assertThat(spills).doesNotExist();
    assertThat(fixture.data().resolve("execs").resolve(sandbox.id().value())).exists();
    assertThat(fixture.run().resolve("volumes").resolve(orphan.value())).doesNotExist();
    assertThat(fixture.run().resolve("volumes").resolve(snapshot.volume().value())).exists();
    assertThat(run(sandbox, "cat file").stdout().text()).isEqualTo("kept\n");
    next.sandboxes().snapshots().delete(ALICE, snapshot.id());
  }

  @Test
  void whatWasBegunIsFinishedOrUndone() throws Exception {
    Sandbox starting = fixture.sandbox();
    Sandbox stopping = fixture.sandbox();
    run(stopping, "echo kept > file");
    Sandbox removing = fixture.sandbox();
    Snapshot whole = fixture.control().sandboxes().snapshots().create(ALICE, stopping.id(), null);
    Snapshot half = fixture.control().sandboxes().snapshots().create(ALICE, stopping.id(), null);
    fixture.control().close();
    // As a server leaves it that is killed in the middle of each.
    try (Connection database =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement statement = database.createStatement()) {
      for (String line :
          List.of(
              "UPDATE sandbox SET status = 'creating' WHERE id = '" + starting.id() + "'",
              "UPDATE sandbox SET status = 'stopped' WHERE id = '" + stopping.id() + "'",
              "UPDATE sandbox SET status = 'destroyed' WHERE id = '" + removing.id() + "'",
              "UPDATE snapshot SET used_bytes = NULL WHERE id = '" + half.id() + "'")) {
        assertThat(statement.executeUpdate(line)).isEqualTo(1);
      }
    }
    Sandboxes sandboxes = fixture.reopen().sandboxes();

    assertThat(sandboxes.get(ALICE, starting.id()).status()).isEqualTo(SandboxStatus.FAILED);
    assertThat(sandboxes.get(ALICE, stopping.id()).status()).isEqualTo(SandboxStatus.STOPPED);
    assertThat(sandboxes.list(ALICE, SandboxQuery.all()).total()).isEqualTo(2);
    assertThat(
            ProcessHandle.allProcesses()
                .filter(
                    p ->
                        List.of(starting, stopping, removing).stream()
                            .anyMatch(
                                s -> p.info().commandLine().orElse("").contains(s.id().value()))))
        .isEmpty();
    assertThat(sandboxes.snapshots().list(ALICE))
        .extracting(Snapshot::id)
        .containsExactly(whole.id());
    assertThat(fixture.run().resolve("volumes").resolve(half.volume().value())).doesNotExist();
    sandboxes.start(ALICE, starting.id());
    sandboxes.start(ALICE, stopping.id());
    assertThat(run(stopping, "cat file").stdout().text()).isEqualTo("kept\n");
    sandboxes.delete(ALICE, removing.id());
    sandboxes.snapshots().delete(ALICE, whole.id());
  }

  private static LifeSettings withOrphanMinAge(Duration age) {
    LifeSettings usual = LifeSettings.defaults();
    return new LifeSettings(
        usual.startTimeout(),
        usual.stopGrace(),
        usual.maxLife(),
        usual.warning(),
        usual.evictWhenFull(),
        age,
        usual.onShutdown(),
        usual.maxVolumeMbPerTenant());
  }

  @Test
  void aRecoveredExecCanBeSignalled() throws InterruptedException {
    Sandbox sandbox = fixture.sandbox();
    ExecStream stream =
        fixture
            .control()
            .execs()
            .start(ALICE, sandbox.id(), ExecStart.of(Command.of("sleep", "1000")).inBackground());
    Control next = fixture.restart();
    next.execs().signal(ALICE, sandbox.id(), stream.id(), 9, SignalScope.TREE);
    eventually(() -> !exec(sandbox, stream).running());
  }

  private Exec exec(Sandbox sandbox, ExecStream stream) {
    return fixture.control().execs().get(ALICE, sandbox.id(), stream.id());
  }

  private boolean has(Sandbox sandbox, String file) {
    return fixture.control().files().list(ALICE, sandbox.id(), ".", 1, 100).entries().stream()
        .anyMatch(entry -> entry.name().equals(file));
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
}
