package dev.carrel.control.audit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.audit.AuditVerdict.Problem;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.FileChange;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AuditTest {
  private static final int SEEDS = 12;

  @TempDir Path folder;

  @Test
  void whatIsReadIsWhatWasWritten() {
    var entry =
        new AuditEntry(
            new Who("acme", "alice", "prod", Ledger.BOX),
            "exec.run",
            "ex_1",
            new RequestDigest().add("x").hex(),
            new Outcome(
                "returned",
                3,
                Duration.ofNanos(1_234_000),
                "a\nb\\",
                "ü😀",
                List.of(new FileChange("a b", FileChange.Action.CREATED, 5, false)),
                "namespaces"),
            Map.of("command", "echo \"x\"\n", "cwd", "/tmp"));
    try (var ledger = new Ledger(folder)) {
      ledger.get().write(entry);
      assertThat(ledger.get().page(Ledger.ADMIN, AuditQuery.newest(1)))
          .extracting(AuditRecord::entry)
          .containsExactly(entry);
    }
  }

  @Test
  void whatIsNotedIsReadAtOnceAndBeforeWhatCameAfterIt() {
    try (var ledger = new Ledger(folder)) {
      ledger.get().note(Ledger.entry("acme", 1));
      ledger.get().note(Ledger.entry("acme", 2));
      ledger.get().write(Ledger.entry("acme", 3));
      ledger.get().note(Ledger.entry("acme", 4));
      assertThat(subjects(ledger)).containsExactly("ex_4", "ex_3", "ex_2", "ex_1");
      assertThat(ledger.verify().problems()).isEmpty();
    }
  }

  @Test
  void whatIsNotedComesIntoTheChainByItself() {
    try (var ledger = new Ledger(folder)) {
      ledger.get().note(Ledger.entry("acme", 1));
      Eventually.holds(
          "it is in the database",
          Duration.ofSeconds(10),
          () ->
              ledger
                      .database()
                      .read(
                          handle ->
                              handle
                                  .createQuery("SELECT COUNT(*) FROM audit")
                                  .mapTo(Integer.class)
                                  .one())
                  == 1);
    }
  }

  @Test
  void whatIsNotedIsThereOnceAfterEachCrash() {
    try (var ledger = new Ledger(folder)) {
      var noted = new ArrayList<String>();
      for (int i = 0; i < 30; i++) {
        ledger.get().note(Ledger.entry("acme", i));
        noted.addFirst("ex_" + i);
        if (i % 3 == 0) {
          ledger.get().write(Ledger.entry("acme", 100 + i));
          noted.addFirst("ex_" + (100 + i));
        }
        ledger.crash();
        assertThat(subjects(ledger)).isEqualTo(noted);
      }
      assertThat(ledger.verify().problems()).isEmpty();
    }
  }

  @Test
  void whatTheDatabaseHasAlreadyIsNotTakenFromTheJournalAgain() throws IOException {
    Path journal = folder.resolve("audit.journal");
    try (var ledger = new Ledger(folder)) {
      ledger.get().note(Ledger.entry("acme", 1));
      ledger.get().note(Ledger.entry("acme", 2));
      byte[] full = Files.readAllBytes(journal);
      assertThat(subjects(ledger)).containsExactly("ex_2", "ex_1");
      // As after a kill between the commit and what follows it.
      Files.write(journal, full);
      ledger.crash();
      ledger.get().note(Ledger.entry("acme", 3));
      assertThat(subjects(ledger)).containsExactly("ex_3", "ex_2", "ex_1");
    }
  }

  @Test
  void whatIsNotedOutlivesTheTransactionThatTookItAndFailed() {
    try (var ledger = new Ledger(folder)) {
      ledger.get().note(Ledger.entry("acme", 1));
      assertThatExceptionOfType(IllegalStateException.class)
          .isThrownBy(
              () ->
                  ledger
                      .database()
                      .write(
                          handle -> {
                            ledger.get().append(handle, Ledger.entry("acme", 2));
                            throw new IllegalStateException("on purpose");
                          }));
      ledger.get().note(Ledger.entry("acme", 3));
      assertThat(subjects(ledger)).containsExactly("ex_3", "ex_1");
      ledger.restart();
      assertThat(subjects(ledger)).containsExactly("ex_3", "ex_1");
      assertThat(ledger.verify().problems()).isEmpty();
    }
  }

  @Test
  void manyWhoNoteAndWriteMakeOneChain() throws Exception {
    try (var ledger = new Ledger(folder);
        var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var writers = new ArrayList<Future<?>>();
      for (int i = 0; i < 20; i++) {
        int number = i;
        writers.add(
            pool.submit(
                () -> {
                  for (int n = 0; n < 50; n++) {
                    ledger.get().note(Ledger.entry("acme", number));
                  }
                }));
        writers.add(pool.submit(() -> ledger.write(10)));
      }
      for (Future<?> writer : writers) {
        writer.get();
      }
      assertThat(ledger.get().last()).isEqualTo(20 * 60);
      assertThat(ledger.verify().problems()).isEmpty();
    }
  }

  private static List<String> subjects(Ledger ledger) {
    return ledger.get().page(Ledger.ADMIN, AuditQuery.newest(1000)).stream()
        .map(record -> String.valueOf(record.entry().subject()))
        .toList();
  }

  @Test
  void longOutputKeepsBothEnds() {
    try (var ledger = new Ledger(folder)) {
      String text = "begin" + "x".repeat(100_000) + "end";
      var outcome = new Outcome("returned", 0, null, text, null, List.of(), null);
      ledger.get().write(AuditEntry.of(Who.of(Ledger.ADMIN), "exec.run", outcome));
      String kept =
          ledger
              .get()
              .page(Ledger.ADMIN, AuditQuery.newest(1))
              .getFirst()
              .entry()
              .outcome()
              .stdout();
      assertThat(kept)
          .startsWith("begin")
          .endsWith("end")
          .contains("100,008")
          .hasSizeLessThan(1200);
    }
  }

  @Test
  void aTenantReadsItsOwnOnly() {
    try (var ledger = new Ledger(folder)) {
      ledger.get().write(Ledger.entry("acme", 1));
      ledger.get().write(Ledger.entry("evil", 2));
      assertThat(ledger.get().page(Caller.user("acme", "alice"), AuditQuery.newest(10)))
          .extracting(record -> record.entry().who().tenant())
          .containsExactly("acme");
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> ledger.get().verify(Caller.user("acme", "alice")))
          .matches(e -> e.code() == ErrorCode.FORBIDDEN);
    }
  }

  @Test
  void manyWritersMakeOneChainWithoutGaps() throws Exception {
    try (var ledger = new Ledger(folder);
        var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var writers = new ArrayList<Future<?>>();
      for (int i = 0; i < 50; i++) {
        writers.add(pool.submit(() -> ledger.write(20)));
        writers.add(
            pool.submit(
                () ->
                    ledger
                        .database()
                        .write(
                            handle -> {
                              ledger.get().append(handle, Ledger.entry("acme", 1));
                              return true;
                            })));
      }
      for (Future<?> writer : writers) {
        writer.get();
      }
      assertThat(ledger.get().last()).isEqualTo(50 * 21);
      assertThat(ledger.verify().problems()).isEmpty();
    }
  }

  @Test
  void whatIsRolledBackLeavesNoGap() {
    try (var ledger = new Ledger(folder)) {
      ledger.write(2);
      assertThatExceptionOfType(IllegalStateException.class)
          .isThrownBy(
              () ->
                  ledger
                      .database()
                      .write(
                          handle -> {
                            ledger.get().append(handle, Ledger.entry("acme", 3));
                            throw new IllegalStateException("no");
                          }));
      ledger.write(2);
      assertThat(ledger.verify()).isEqualTo(new AuditVerdict(4, 1, 4, 0, List.of()));
    }
  }

  @Test
  void whatCannotBeWrittenIsNotAcknowledgedAndTheNextIs() {
    try (var ledger = new Ledger(folder)) {
      ledger.write(1);
      ledger.tamper("PRAGMA max_page_count = 1");
      var large = new TreeMap<String, String>();
      for (int i = 0; i < 32; i++) {
        large.put("n" + i, "x".repeat(4000));
      }
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> ledger.get().write(Ledger.entry("acme", 1).withDetails(large)))
          .matches(e -> e.code() == ErrorCode.NO_SPACE);
      ledger.tamper("PRAGMA max_page_count = 1000000");
      ledger.write(1);
      assertThat(ledger.verify()).isEqualTo(new AuditVerdict(2, 1, 2, 0, List.of()));
    }
  }

  @Test
  void theChainIsSignedAfterSoManyRecordsOrSoMuchTime() {
    AuditSettings often = AuditSettings.defaults().withCheckpoints(10, Duration.ofHours(1));
    try (var ledger = new Ledger(folder, often)) {
      ledger.write(25);
      Eventually.holds(
          "a checkpoint", Duration.ofSeconds(60), () -> ledger.verify().checkpoints() > 0);
    }
    AuditSettings soon = AuditSettings.defaults().withCheckpoints(1000, Duration.ofMillis(50));
    try (var ledger = new Ledger(folder, soon)) {
      long before = ledger.verify().checkpoints();
      ledger.write(1);
      Eventually.holds(
          "another one", Duration.ofSeconds(60), () -> ledger.verify().checkpoints() > before);
    }
  }

  @Test
  void retentionLeavesAnIntactChainThatBeginsLater() {
    DataSize some = new DataSize(20_000);
    AuditSettings small =
        AuditSettings.defaults()
            .withCheckpoints(1_000_000, Duration.ofHours(1))
            .withRetention(Duration.ofDays(1), some);
    try (var ledger = new Ledger(folder, small)) {
      ledger.write(200);
      ledger.get().prune();
      AuditVerdict verdict = ledger.verify();
      assertThat(verdict.problems()).isEmpty();
      assertThat(verdict.first()).isBetween(100L, 199L);
      assertThat(verdict.last()).isGreaterThanOrEqualTo(201);
      assertThat(ledger.get().page(Ledger.ADMIN, AuditQuery.newest(1)))
          .extracting(record -> record.entry().action())
          .containsExactly("audit.prune");
      ledger.write(200);
      ledger.get().prune();
      assertThat(ledger.verify().problems()).isEmpty();
      // Whoever removes more than was pruned is found.
      long first = ledger.verify().first();
      assertThat(ledger.tamper("DELETE FROM audit WHERE sequence = ?", first)).isEqualTo(1);
      assertThat(ledger.verify().problems()).extracting(Problem::sequence).containsExactly(first);
    }
  }

  @Test
  void recordsThatAreTooOldGo() {
    AuditSettings brief =
        AuditSettings.defaults()
            .withCheckpoints(1_000_000, Duration.ofHours(1))
            .withRetention(Duration.ofNanos(1), DataSize.ofMebibytes(100));
    try (var ledger = new Ledger(folder, brief)) {
      ledger.write(10);
      // The clock of the host may stand still for a moment, or go back by a little; and the audit
      // prunes by itself as it begins, maybe between these records.
      Eventually.holds(
          "only the word about the others is left",
          Duration.ofSeconds(30),
          () -> {
            ledger.get().prune();
            return ledger.verify().records() == 1;
          });
      AuditVerdict verdict = ledger.verify();
      assertThat(verdict.problems()).isEmpty();
      assertThat(verdict.first()).isGreaterThan(10);
      ledger.restart();
      assertThat(ledger.verify().problems()).isEmpty();
    }
  }

  @Test
  void aHundredThousandRecordsAreVerified() {
    try (var ledger = new Ledger(folder)) {
      for (int batch = 0; batch < 100; batch++) {
        ledger
            .database()
            .write(
                handle -> {
                  for (int i = 0; i < 1000; i++) {
                    ledger.get().append(handle, Ledger.entry("acme", i));
                  }
                  return true;
                });
      }
      long begin = System.nanoTime();
      AuditVerdict verdict = ledger.verify();
      System.getLogger("audit")
          .log(
              System.Logger.Level.INFO,
              "verified {0} records in {1} ms",
              verdict.records(),
              (System.nanoTime() - begin) / 1_000_000);
      assertThat(verdict).isEqualTo(new AuditVerdict(100_000, 1, 100_000, 0, List.of()));
      ledger.tamper("UPDATE audit SET body = body || 'x' WHERE sequence = 77777");
      assertThat(ledger.verify().problems()).extracting(Problem::sequence).containsExactly(77_777L);
    }
  }

  /** Whatever is written, and however the server goes on, one random change is found. */
  @Test
  void anyRandomChangeOfAnyRandomChainIsFound() throws IOException {
    for (int seed = 0; seed < SEEDS; seed++) {
      var random = new Random(seed);
      Path place = Files.createDirectory(folder.resolve("seed" + seed));
      try (var ledger = new Ledger(place)) {
        int steps = 3 + random.nextInt(5);
        for (int step = 0; step < steps; step++) {
          for (int i = random.nextInt(6); i >= 0; i--) {
            ledger.get().write(random(random));
          }
          switch (random.nextInt(3)) {
            case 0 -> ledger.restart();
            case 1 -> ledger.crash();
            default -> ledger.database().flush();
          }
        }
        assertThat(ledger.verify().problems()).as("seed %d", seed).isEmpty();
        long sequence = 1 + random.nextLong(ledger.get().last());
        assertThat(ledger.tamper(change(random), sequence)).isEqualTo(1);
        assertThat(ledger.verify().intact()).as("seed %d", seed).isFalse();
      }
    }
  }

  private static String change(Random random) {
    return switch (random.nextInt(5)) {
      case 0 -> "DELETE FROM audit WHERE sequence = ?";
      case 1 -> "UPDATE audit SET body = body || char(10) WHERE sequence = ?";
      case 2 -> "UPDATE audit SET at_us = at_us - 1 WHERE sequence = ?";
      case 3 -> "UPDATE audit SET tenant = tenant || ' ' WHERE sequence = ?";
      default -> "UPDATE audit SET sequence = sequence + 1000000 WHERE sequence = ?";
    };
  }

  private static AuditEntry random(Random random) {
    var details = new TreeMap<String, String>();
    for (int i = random.nextInt(4); i > 0; i--) {
      details.put(text(random), text(random));
    }
    return new AuditEntry(
        new Who(text(random), text(random), text(random), random.nextBoolean() ? Ledger.BOX : null),
        random.nextBoolean() ? "exec.run" : "file.write",
        random.nextBoolean() ? text(random) : null,
        random.nextBoolean() ? text(random) : null,
        new Outcome(
            text(random),
            random.nextBoolean() ? random.nextInt() : null,
            random.nextBoolean() ? Duration.ofMillis(random.nextInt(1000)) : null,
            text(random),
            text(random),
            List.of(),
            null),
        details);
  }

  /** Also what is no character, and what ends a text elsewhere. */
  private static String text(Random random) {
    var text = new StringBuilder();
    for (int i = random.nextInt(12); i >= 0; i--) {
      switch (random.nextInt(4)) {
        case 0 -> text.append((char) random.nextInt(0x80));
        case 1 -> text.appendCodePoint(random.nextInt(0x10000, 0x10FFFF));
        case 2 -> text.append((char) random.nextInt(0xD800, 0xE000));
        default -> text.append("\\\n\0'".charAt(random.nextInt(4)));
      }
    }
    return text.toString();
  }
}
