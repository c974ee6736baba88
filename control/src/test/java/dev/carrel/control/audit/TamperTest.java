package dev.carrel.control.audit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.carrel.control.audit.AuditVerdict.Kind;
import dev.carrel.control.audit.AuditVerdict.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever can write to the database, but has not the key, is found out. */
final class TamperTest {
  private static final int RECORDS = 8;
  private static final List<String> FIELDS =
      List.of(
          "at_us = at_us + 1",
          "tenant = 'evil'",
          "namespace = 'other'",
          "sandbox_id = NULL",
          "sandbox_id = 'sb_bbbbbbbbbbbb'",
          "action = 'code.run'",
          "body = replace(body, 'alice', 'mallory')",
          "body = replace(body, 'returned', 'denied')",
          "body = body || 'x'",
          "hash = zeroblob(32)");

  @TempDir Path folder;
  private Ledger ledger;

  @BeforeEach
  void write() {
    ledger = new Ledger(folder);
    ledger.write(RECORDS);
  }

  @AfterEach
  void close() {
    ledger.close();
  }

  @Test
  void whatNobodyTouchedIsIntact() {
    assertThat(ledger.verify()).isEqualTo(new AuditVerdict(RECORDS, 1, RECORDS, 0, List.of()));
    ledger.restart();
    assertThat(ledger.verify()).isEqualTo(new AuditVerdict(RECORDS, 1, RECORDS, 1, List.of()));
    ledger.write(1);
    ledger.crash();
    assertThat(ledger.verify())
        .isEqualTo(new AuditVerdict(RECORDS + 1, 1, RECORDS + 1, 1, List.of()));
  }

  @Test
  void eachChangedFieldOfEachRecordIsFound() {
    for (int sequence = 1; sequence <= RECORDS; sequence++) {
      for (String change : FIELDS) {
        ledger.tamper("CREATE TABLE kept AS SELECT * FROM audit");
        assertThat(ledger.tamper("UPDATE audit SET " + change + " WHERE sequence = ?", sequence))
            .isEqualTo(1);
        assertThat(ledger.verify().problems())
            .as("%s of record %d", change, sequence)
            .extracting(Problem::sequence)
            .contains((long) sequence);
        ledger.tamper("DELETE FROM audit");
        ledger.tamper("INSERT INTO audit SELECT * FROM kept");
        ledger.tamper("DROP TABLE kept");
        assertThat(ledger.verify().intact()).isTrue();
      }
    }
  }

  @Test
  void eachDeletedRecordIsFound() {
    for (int sequence = 1; sequence <= RECORDS; sequence++) {
      ledger.tamper("CREATE TABLE kept AS SELECT * FROM audit");
      ledger.tamper("DELETE FROM audit WHERE sequence = ?", sequence);
      assertThat(ledger.verify().problems())
          .as("record %d", sequence)
          .extracting(Problem::kind, Problem::sequence)
          .containsExactly(
              tuple(sequence == RECORDS ? Kind.TRUNCATED : Kind.MISSING, (long) sequence));
      ledger.tamper("DELETE FROM audit");
      ledger.tamper("INSERT INTO audit SELECT * FROM kept");
      ledger.tamper("DROP TABLE kept");
    }
  }

  @Test
  void recordsThatChangedPlacesAreFound() {
    ledger.tamper("UPDATE audit SET sequence = 100 WHERE sequence = 3");
    ledger.tamper("UPDATE audit SET sequence = 3 WHERE sequence = 4");
    ledger.tamper("UPDATE audit SET sequence = 4 WHERE sequence = 100");
    assertThat(ledger.verify().problems())
        .extracting(Problem::kind, Problem::sequence)
        .contains(tuple(Kind.CHANGED, 3L), tuple(Kind.CHANGED, 4L));
  }

  @Test
  void recordsThatWereAddedInTheMiddleAreFound() {
    ledger.tamper("UPDATE audit SET sequence = sequence + 100 WHERE sequence > 4");
    ledger.tamper("UPDATE audit SET sequence = sequence - 99 WHERE sequence > 100");
    ledger.tamper(
        "INSERT INTO audit SELECT 5, at_us, tenant, namespace, sandbox_id, action, body, hash"
            + " FROM audit WHERE sequence = 4");
    assertThat(ledger.verify().intact()).isFalse();
  }

  @Test
  void aTailThatWasCutWhileTheServerWasDownIsFoundThenAndEverAfter() {
    ledger.close();
    cut("DELETE FROM audit WHERE sequence > 5");
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.TRUNCATED);
    ledger.write(3);
    assertThat(ledger.verify().problems())
        .extracting(Problem::kind, Problem::sequence)
        .contains(tuple(Kind.MISSING, 6L));
    ledger.restart();
    assertThat(ledger.verify().intact()).isFalse();
  }

  @Test
  void aTailThatWasCutWithItsCheckpointsIsFound() {
    ledger.close();
    cut("DELETE FROM audit WHERE sequence > 5", "DELETE FROM audit_checkpoint");
    assertThat(ledger.verify().intact()).isFalse();
  }

  @Test
  void anEmptiedDatabaseIsFound() {
    ledger.close();
    cut("DELETE FROM audit", "DELETE FROM audit_checkpoint");
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.TRUNCATED);
  }

  @Test
  void aDatabaseThatWasSetBackIsFound() throws IOException {
    ledger.close();
    Path copy = folder.resolve("earlier.db");
    Files.copy(ledger.file(), copy);
    ledger.open();
    ledger.write(5);
    ledger.close();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().contains("carrel.db")).toList()) {
        Files.delete(file);
      }
    }
    Files.copy(copy, ledger.file(), StandardCopyOption.REPLACE_EXISTING);
    ledger.open();
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.TRUNCATED);
  }

  @Test
  void aChainThatWasComputedAnewIsFound() {
    ledger.restart();
    rewrite("mallory");
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.REWRITTEN);
    ledger.crash();
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.REWRITTEN);
    ledger.tamper("DELETE FROM audit_checkpoint");
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.REWRITTEN);
  }

  @Test
  void aForgedCheckpointIsFound() {
    ledger.restart();
    ledger.tamper("UPDATE audit_checkpoint SET signature = zeroblob(64)");
    assertThat(ledger.verify().problems()).extracting(Problem::kind).contains(Kind.UNSIGNED);
  }

  @Test
  void aForgedWordAboutPruningIsFound() {
    ledger.tamper(
        "INSERT INTO audit_checkpoint SELECT 'pruned', sequence, at_us, hash, zeroblob(64)"
            + " FROM audit WHERE sequence = 4");
    ledger.tamper("DELETE FROM audit WHERE sequence <= 4");
    assertThat(ledger.verify().problems())
        .extracting(Problem::kind)
        .contains(Kind.UNSIGNED, Kind.MISSING);
  }

  @Test
  void aCheckpointBesideTheDatabaseThatIsGoneOrForgedIsFound() throws IOException {
    ledger.restart();
    String genuine = Files.readString(ledger.checkpoint());
    Files.delete(ledger.checkpoint());
    assertThat(ledger.verify().problems()).extracting(Problem::kind).containsExactly(Kind.UNSIGNED);
    Files.writeString(ledger.checkpoint(), genuine.replaceFirst("8", "5"));
    assertThat(ledger.verify().problems()).extracting(Problem::kind).containsExactly(Kind.UNSIGNED);
    Files.writeString(ledger.checkpoint(), genuine);
    assertThat(ledger.verify().intact()).isTrue();
  }

  private void cut(String... statements) {
    ledger.open();
    for (String statement : statements) {
      ledger.tamper(statement);
    }
    ledger.crash();
  }

  /** As one who knows how hashes are made, and has not the key. */
  private void rewrite(String principal) {
    var store = new AuditStore(ledger.database());
    Head before = Head.genesis(ledger.get().key());
    for (StoredRecord row : store.after(0, 100)) {
      StoredRecord open =
          new StoredRecord(
              row.sequence(),
              row.atMicros(),
              row.tenant(),
              row.namespace(),
              row.sandbox(),
              row.action(),
              row.body().replace("alice", principal),
              row.hash());
      byte[] hash = open.hashAfter(before.hash(), RequestDigest.sha256());
      ledger.tamper(
          "UPDATE audit SET body = ?, hash = ? WHERE sequence = ?",
          open.body(),
          hash,
          open.sequence());
      before = new Head(open.sequence(), hash);
    }
  }
}
