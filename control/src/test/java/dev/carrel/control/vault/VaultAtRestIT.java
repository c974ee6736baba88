package dev.carrel.control.vault;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whoever can write the database but has not the key cannot make the vault give another value. */
final class VaultAtRestIT {
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
    Vault vault = fixture.control().vault();
    vault.add(ALICE, null, "FIRST", "first-value", false);
    vault.add(ALICE, null, "SECOND", "second-value", false);
    vault.add(ALICE, null, "BOUND", "bound-value", false, List.of("api.example"));
    vault.add(MALLORY, null, "OTHERS", "their-value", false);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        // Swapped, moved to another tenant, another name, made harmless.
        "UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'SECOND')"
            + " WHERE name = 'FIRST'",
        "UPDATE secret SET tenant = 'evil' WHERE name = 'FIRST'",
        "UPDATE secret SET namespace = 'lab' WHERE name = 'FIRST'",
        "UPDATE secret SET name = 'THIRD' WHERE name = 'FIRST'",
        "UPDATE secret SET canary = 1 - canary WHERE name = 'FIRST'",
        "UPDATE secret SET version = 7 WHERE name = 'FIRST'",
        // Sent to somebody else, or given to processes.
        "UPDATE secret SET hosts = 'evil.example' WHERE name = 'BOUND'",
        "UPDATE secret SET hosts = '' WHERE name = 'BOUND'",
        "UPDATE secret SET hosts = 'evil.example' WHERE name = 'FIRST'",
        "UPDATE secret SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE name = 'FIRST'",
        "UPDATE secret SET sealed = x'00' WHERE name = 'FIRST'",
        // Truncated.
        "DELETE FROM secret WHERE name = 'FIRST'",
        "DELETE FROM secret",
      })
  void aChangeFromOutsideClosesTheVault(String sql) throws Exception {
    fixture.control().close();
    change(sql);
    fixture.reopen();

    requireClosed();
  }

  @Test
  void aRowThatWasPutBackAsItWasBeforeClosesTheVault() throws Exception {
    fixture.control().close();
    change("CREATE TABLE old AS SELECT * FROM secret");
    fixture.reopen();
    fixture.control().vault().rotate(ALICE, null, "FIRST", "rotated-value");
    fixture.control().close();
    change(
        "UPDATE secret SET (version, sealed, updated_at) = (SELECT version, sealed, updated_at"
            + " FROM old WHERE old.id = secret.id) WHERE name = 'FIRST'");
    fixture.reopen();

    requireClosed();
  }

  @Test
  void anotherKeyOpensNothing() throws Exception {
    fixture.control().close();
    Files.delete(fixture.data().resolve("vault.key"));
    fixture.reopen();

    requireClosed();
  }

  @Test
  void aVaultThatNobodyTouchedOpens() {
    fixture.restart();
    assertThat(fixture.control().vault().list(ALICE, null))
        .extracting(Secret::name)
        .containsExactly("BOUND", "FIRST", "SECOND");
  }

  @Test
  void aCrashBetweenTheSealAndTheRowsLeavesItOpen() throws Exception {
    Path seal = fixture.data().resolve("vault.seal");
    fixture.control().vault().add(ALICE, null, "THIRD", "third-value", false);
    List<String> before = Files.readAllLines(seal);
    fixture.control().vault().rotate(ALICE, null, "THIRD", "fourth-value");
    List<String> after = Files.readAllLines(seal);
    fixture.control().close();
    // As it is written before the rows change.
    Files.write(seal, List.of(before.getFirst(), after.getFirst()));
    fixture.reopen();

    assertThat(fixture.control().vault().list(ALICE, null)).hasSize(4);
    assertThat(Files.readAllLines(seal)).isEqualTo(after);
  }

  @Test
  void aPowerFailureLeavesNoRowBehindTheSeal() throws Exception {
    fixture.control().vault().add(ALICE, null, "THIRD", "third-value", false);
    // Without the log beside it, which need not have reached the disk.
    Path left = fixture.data().resolve("left.db");
    Files.copy(fixture.data().resolve("carrel.db"), left);

    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + left);
        var statement = connection.createStatement();
        var rows = statement.executeQuery("SELECT 1 FROM secret WHERE name = 'THIRD'")) {
      assertThat(rows.next()).isTrue();
    }
  }

  private void requireClosed() {
    Vault vault = fixture.control().vault();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> vault.list(ALICE, null))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.VAULT_DAMAGED))
        .satisfies(e -> assertThat(e.hint()).isPresent());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> vault.add(ALICE, null, "NEW", "new-value", false));
  }

  private void change(String sql) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        var statement = connection.createStatement()) {
      statement.executeUpdate(sql);
    }
  }
}
