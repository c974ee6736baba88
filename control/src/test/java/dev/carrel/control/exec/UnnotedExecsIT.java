package dev.carrel.control.exec;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Commands that are refused because nothing could be written of them do not run. */
final class UnnotedExecsIT {
  // As many as the audit's journal takes while the database takes none.
  private static final int JOURNAL = 10_000;
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
    sql("CREATE TRIGGER broken BEFORE INSERT ON audit" + BROKEN);
    var entry = AuditEntry.of(AuditEntry.Who.of(ALICE), "test.full", AuditEntry.Outcome.OK);
    for (int i = 0; i < JOURNAL; i++) {
      fixture.control().audit().note(entry);
    }
    try {
      assertThatException()
          .isThrownBy(() -> start(ExecStart.of(touching("recorded")).inBackground()));
      eventually(() -> execs.list(ALICE, sandbox.id()).stream().noneMatch(Exec::running));
    } finally {
      sql("DROP TRIGGER broken");
    }
    assertThat(execs.list(ALICE, sandbox.id())).hasSize(1);
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
