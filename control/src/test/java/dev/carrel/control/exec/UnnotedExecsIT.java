package dev.carrel.control.exec;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.Language;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What becomes of commands and cells of which nothing can be written. */
final class UnnotedExecsIT {
  private static final String BROKEN = " BEGIN SELECT RAISE(ABORT, 'broken'); END";

  private ControlFixture fixture;
  private Execs execs;
  private Sandbox sandbox;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
    execs = fixture.control().execs();
    sandbox = fixture.sandbox();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void oneInTheBackgroundThatCannotBeNotedNeverRan() throws Exception {
    sql("CREATE TRIGGER broken BEFORE INSERT ON exec" + BROKEN);
    assertThatException().isThrownBy(() -> start(ExecStart.of(touching("noted")).inBackground()));
    assertThatException()
        .isThrownBy(
            () ->
                start(
                    ExecStart.of(
                        touching("typed").withTerminal(new Command.TerminalSize(24, 80)))));
    assertThat(execs.list(ALICE, sandbox.id())).isEmpty();
    sql("DROP TRIGGER broken");

    // What had been started before this one has had its time.
    assertThat(run("sleep 0.5; ls")).isEmpty();
  }

  @Test
  void oneInTheBackgroundWhoseStartCannotBePutOnRecordIsEnded() throws Exception {
    breakAudit();
    try {
      assertThatException()
          .isThrownBy(() -> start(ExecStart.of(touching("recorded")).inBackground()));
      eventually(() -> execs.list(ALICE, sandbox.id()).stream().noneMatch(Exec::running));
    } finally {
      sql("DROP TRIGGER broken");
    }
    assertThat(execs.list(ALICE, sandbox.id())).hasSize(1);
  }

  @Test
  void aCellThatCannotBePutOnRecordEndsAndSaysSo() throws Exception {
    assertThat(code("x = 1").success()).isTrue();
    breakAudit();
    try {
      assertThat(code("x = 2").error())
          .satisfies(error -> assertThat(error.type()).isEqualTo("NotRecorded"));
    } finally {
      sql("DROP TRIGGER broken");
    }
  }

  private CodeResult code(String code) throws Exception {
    var request = new ExecuteCode(code, Language.PYTHON, null, Duration.ofMinutes(1));
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<CodeResult> result =
          pool.submit(() -> fixture.control().contexts().execute(ALICE, sandbox.id(), request));
      try {
        return result.get(30, TimeUnit.SECONDS);
      } finally {
        result.cancel(true);
      }
    }
  }

  private void breakAudit() throws SQLException {
    sql("CREATE TRIGGER broken BEFORE INSERT ON audit" + BROKEN);
    var entry = AuditEntry.of(AuditEntry.Who.of(ALICE), "test.full", AuditEntry.Outcome.OK);
    // The journal takes some thousands before it has no room.
    assertThatException()
        .isThrownBy(
            () -> {
              while (true) {
                fixture.control().audit().note(entry);
              }
            });
  }

  private void start(ExecStart request) throws InterruptedException {
    execs.start(ALICE, sandbox.id(), request).close();
  }

  private String run(String line) throws InterruptedException {
    return execs.run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line))).stdout().text();
  }

  private static Command touching(String file) {
    return Command.shell("touch " + file + "; sleep 1000");
  }

  private void sql(String sql) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement statement = connection.createStatement()) {
      statement.execute("PRAGMA busy_timeout = 10000");
      statement.execute(sql);
    }
  }
}
