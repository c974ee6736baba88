package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.access.ApiKey;
import dev.carrel.control.access.ApiKeys;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A store or an engine that fails in ways that nobody foresaw: nothing is stuck for that. */
final class BrokenStoreIT {
  private final HeldEngine engine = new HeldEngine();
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture("process", BrokenStoreIT::watched, engine::around);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aStartThatCannotBeWrittenDownIsFailedAndItsMachineEnded() throws SQLException {
    sql("%s WHEN NEW.to_status = 'running' BEGIN %s END");

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(fixture::sandbox)
        .withMessageContaining("could not start");

    Sandbox failed = only();
    assertThat(failed.status()).isEqualTo(SandboxStatus.FAILED);
    assertThat(LifeIT.guests(failed.id())).isEmpty();
    assertThat(sandboxes().running(failed.id())).isEmpty();
  }

  @Test
  void aFailureIsWrittenDownAsSoonAsTheStoreLetsIt() throws SQLException {
    sql("%s WHEN NEW.to_status IN ('running', 'failed') BEGIN %s END");
    assertThatExceptionOfType(SandboxException.class).isThrownBy(fixture::sandbox);
    assertThat(only().status()).isEqualTo(SandboxStatus.CREATING);
    assertThat(LifeIT.guests(only().id())).isEmpty();

    mend();
    eventually(() -> only().status() == SandboxStatus.FAILED);
  }

  @Test
  void aVolumeIsFreeAgainThoughItsReleaseFailedAtFirst() throws SQLException {
    CreateSandbox withVolume =
        CreateSandbox.defaults().withStorage(new CreateSandbox.Storage(null, "data", null));
    Sandbox sandbox = sandboxes().create(ALICE, withVolume);
    run(
        "CREATE TRIGGER broken BEFORE UPDATE OF sandbox_id ON volume WHEN NEW.sandbox_id IS NULL"
            + " BEGIN SELECT RAISE(ABORT, 'broken'); END");
    sandboxes().stop(ALICE, sandbox.id());
    assertThat(status(sandbox.id())).isEqualTo(SandboxStatus.STOPPED);

    mend();
    sandboxes().life().endRemains();
    assertThat(sandboxes().namedVolumes().get(ALICE, "data").sandbox()).isNull();
  }

  @Test
  void aSnapshotThatCouldNeitherBeWrittenDownNorTakenBackIsTakenBackLater() throws SQLException {
    Sandbox sandbox = fixture.sandbox();
    run(
        "CREATE TRIGGER broken BEFORE UPDATE ON snapshot BEGIN SELECT RAISE(ABORT, 'not made'); END");
    run(
        "CREATE TRIGGER held BEFORE DELETE ON snapshot BEGIN SELECT RAISE(ABORT, 'not removed'); END");
    assertThatException()
        .isThrownBy(() -> sandboxes().snapshots().create(ALICE, sandbox.id(), null))
        .withStackTraceContaining("not made");
    assertThat(engine.volumes()).hasSize(2);

    mend();
    run("DROP TRIGGER held");
    sandboxes().sweepVolumes();
    assertThat(engine.volumes()).as("its copy takes no room").hasSize(1);
    assertThat(rows("snapshot")).as("nor does it count against the tenant").isZero();
  }

  @Test
  void aRestoreIsDoneThoughWhatItReplacedIsNotForgottenYet() throws SQLException {
    Sandbox sandbox = fixture.sandbox();
    Snapshot snapshot = sandboxes().snapshots().create(ALICE, sandbox.id(), null);
    run("CREATE TRIGGER broken BEFORE DELETE ON volume BEGIN SELECT RAISE(ABORT, 'broken'); END");
    assertThat(sandboxes().snapshots().restore(ALICE, sandbox.id(), snapshot.id()).status())
        .isEqualTo(SandboxStatus.RUNNING);
    assertThat(rows("volume")).isEqualTo(2);

    mend();
    sandboxes().sweepVolumes();
    assertThat(rows("volume")).isEqualTo(1);
  }

  @Test
  void oneThatCannotBeTakenOverKeepsNoServerFromStartingAndCanBeStartedAgain() throws SQLException {
    Sandbox lost = fixture.sandbox();
    Sandbox stopped = fixture.sandbox();
    sandboxes().stop(ALICE, stopped.id());
    fixture.control().close();
    run("ALTER TABLE egress_use RENAME TO away");
    fixture.reopen();
    run("ALTER TABLE away RENAME TO egress_use");

    assertThat(status(lost.id())).isEqualTo(SandboxStatus.FAILED);
    assertThat(LifeIT.guests(lost.id())).isEmpty();
    for (Sandbox sandbox : List.of(lost, stopped)) {
      assertThat(sandboxes().start(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.RUNNING);
    }
  }

  @Test
  void aFoundMachineThatDoesNotEndIsEndedLater() throws SQLException {
    Sandbox sandbox = fixture.sandbox();
    fixture.control().close();
    run("UPDATE sandbox SET status = 'stopped' WHERE id = '" + sandbox.id() + "'");
    engine.refuseEnds();
    fixture.reopen();
    assertThatException().isThrownBy(() -> sandboxes().start(ALICE, sandbox.id()));

    engine.allowEnds();
    assertThat(sandboxes().start(ALICE, sandbox.id()).status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(LifeIT.guests(sandbox.id())).hasSize(1);
  }

  @Test
  void aKeyThatCouldNotBeDeletedCanBeDeletedAgain() throws SQLException {
    ApiKeys keys = fixture.control().apiKeys();
    ApiKey.Issued issued = keys.issue(ALICE, "mine", ALICE);
    run("CREATE TRIGGER broken BEFORE DELETE ON api_key BEGIN SELECT RAISE(ABORT, 'broken'); END");
    assertThatException().isThrownBy(() -> keys.delete(ALICE, issued.key().id()));

    mend();
    keys.delete(ALICE, issued.key().id());

    assertThat(keys.authenticate(issued.secret())).isEmpty();
    fixture.restart();
    assertThat(fixture.control().apiKeys().authenticate(issued.secret())).isEmpty();
  }

  @Test
  void codeWithAKeyThatIsRefusedHasNotRun() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run("CREATE TRIGGER broken BEFORE INSERT ON context BEGIN SELECT RAISE(ABORT, 'broken'); END");
    ExecuteCode code =
        new ExecuteCode("echo one > ran", Language.BASH, null, null)
            .withKey(new RequestKey("once", "digest"));
    assertThatException()
        .isThrownBy(() -> fixture.control().contexts().execute(ALICE, sandbox.id(), code));

    mend();
    ExecStart look = ExecStart.of(Command.shell("cat ran || true"));
    assertThat(fixture.control().execs().run(ALICE, sandbox.id(), look).stdout().text()).isEmpty();
  }

  @Test
  void aCommandEndsThoughNobodyCanSayWhetherItsSandboxLives() throws Exception {
    Sandbox lost = fixture.sandbox();
    Sandbox other = fixture.sandbox();
    Execs execs = fixture.control().execs();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<ExecResult> result = pool.submit(() -> run(lost, "sleep 1000"));
      eventually(() -> execs.list(ALICE, lost.id()).stream().anyMatch(Exec::running));
      engine.fallSilent();
      LifeIT.guests(lost.id()).forEach(ProcessHandle::destroyForcibly);
      try {
        assertThat(result.get(20, TimeUnit.SECONDS).cause())
            .isEqualTo(ExecEvent.Cause.SANDBOX_LOST);
      } finally {
        result.cancel(true);
        engine.speakAgain();
      }

      // It had the only place that there is.
      Future<ExecResult> next = pool.submit(() -> run(other, "true"));
      assertThat(next.get(20, TimeUnit.SECONDS).exitCode()).isZero();
    }
  }

  private ExecResult run(Sandbox sandbox, String line) throws InterruptedException {
    return fixture.control().execs().run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line)));
  }

  private Sandboxes sandboxes() {
    return fixture.control().sandboxes();
  }

  private Sandbox only() {
    return sandboxes().list(ALICE, SandboxQuery.all()).items().getFirst();
  }

  private SandboxStatus status(SandboxId id) {
    return sandboxes().get(ALICE, id).status();
  }

  private void sql(String trigger) throws SQLException {
    run(
        trigger.formatted(
            "CREATE TRIGGER broken BEFORE INSERT ON transition", "SELECT RAISE(ABORT, 'broken');"));
  }

  private void mend() throws SQLException {
    run("DROP TRIGGER broken");
  }

  private int rows(String table) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
      return rows.getInt(1);
    }
  }

  private void run(String sql) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement statement = connection.createStatement()) {
      statement.execute("PRAGMA busy_timeout = 10000");
      statement.execute(sql);
    }
  }

  private static ControlSettings watched(ControlSettings settings) {
    return settings
        .withQueue(settings.queue().withMaxExecutions(1))
        .withSandboxes(settings.sandboxes().withWatch(Duration.ofDays(1), Duration.ofMillis(50)));
  }
}
