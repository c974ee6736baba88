package dev.carrel.control.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.result.ResultIterator;
import org.jdbi.v3.core.statement.Query;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DatabaseTest {
  @TempDir Path folder;

  @Test
  void theNewestMigrationIsTheOneThatSkipsTheSearch() throws IOException {
    Path migrations =
        Path.of(System.getProperty("carrel.root"), "control/src/main/resources/db/migration");
    try (Stream<Path> files = Files.list(migrations)) {
      assertThat(files.map(file -> String.valueOf(file.getFileName())))
          .allMatch(name -> name.matches("V\\d+__\\w+\\.sql"))
          .extracting(name -> Integer.valueOf(name.substring(1, name.indexOf("__"))))
          .contains(Integer.valueOf(Schema.NEWEST))
          .allMatch(version -> version <= Integer.parseInt(Schema.NEWEST));
    }
  }

  @Test
  void whatIsWrittenIsThereAfterReopeningAndNobodyElseCanRead() throws IOException {
    Path file = folder.resolve("x.db");
    try (Database database = Database.open(file)) {
      database.later(handle -> handle.execute("CREATE TABLE t (n INTEGER)"));
      database.later(handle -> handle.execute("INSERT INTO t VALUES (41)"));
    }
    try (Database database = Database.open(file)) {
      assertThat(count(database)).isEqualTo(1);
    }
    assertThat(Files.getPosixFilePermissions(file)).hasSize(2);
  }

  @Test
  void aNewFileBeginsWithTheBlankOneAndNobodyElseCanRead() throws IOException {
    Path blank = folder.resolve("blank.db");
    try (Database database = Database.open(blank)) {
      database.write(handle -> handle.execute("CREATE TABLE t (n INTEGER)"));
      database.write(handle -> handle.execute("INSERT INTO t VALUES (41)"));
    }
    Path file = folder.resolve("x.db");
    try (Database database = Database.open(file, Optional.of(blank))) {
      assertThat(count(database)).isEqualTo(1);
      database.write(handle -> handle.execute("INSERT INTO t VALUES (42)"));
    }
    try (Database database = Database.open(file, Optional.of(blank))) {
      assertThat(count(database)).isEqualTo(2);
    }
    assertThat(Files.getPosixFilePermissions(file)).hasSize(2);
    assertThat(folder).isDirectoryNotContaining("glob:**.draft");
  }

  @Test
  void whatANewerVersionHasUsedIsRefusedAndLeftAsItWas() throws IOException {
    Path file = folder.resolve("x.db");
    int newer = Integer.parseInt(Schema.NEWEST) + 1;
    try (Database database = Database.open(file)) {
      database.write(
          handle ->
              handle.execute(
                  "INSERT INTO flyway_schema_history SELECT installed_rank + 1, ?, 'later', type,"
                      + " 'V__later.sql', checksum, installed_by, installed_on, 0, 1"
                      + " FROM flyway_schema_history ORDER BY installed_rank DESC LIMIT 1",
                  String.valueOf(newer)));
    }
    byte[] before = Files.readAllBytes(file);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> Database.open(file).close())
        .withMessageContaining("its schema is " + newer)
        .withMessageContaining(file.toString())
        .matches(e -> e.hint().orElseThrow().contains("start that version again"));
    assertThat(file).hasBinaryContent(before);
  }

  @Test
  void aFullDiskIsToldAsSuchAndPasses() {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      database.write(handle -> handle.execute("CREATE TABLE t (data BLOB)"));
      database.write(handle -> handle.execute("PRAGMA max_page_count = 1"));
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> database.write(DatabaseTest::insertMuch))
          .matches(e -> e.code() == ErrorCode.NO_SPACE);

      database.write(handle -> handle.execute("PRAGMA max_page_count = 1000"));
      database.write(DatabaseTest::insertMuch);
      assertThat(count(database)).isEqualTo(1);
    }
  }

  @Test
  void aStoreThatAnotherProcessHoldsIsToldAsSuchAndPasses() throws SQLException {
    Path file = folder.resolve("x.db");
    try (Database database = Database.open(file);
        Connection other = Database.dataSource(file).getConnection()) {
      database.write(handle -> handle.execute("CREATE TABLE t (data BLOB)"));
      database.write(handle -> handle.execute("PRAGMA busy_timeout = 20"));
      other.setAutoCommit(false);
      try (var statement = other.createStatement()) {
        statement.execute("INSERT INTO t VALUES (1)");
      }
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> database.write(DatabaseTest::insertMuch))
          .matches(e -> e.code() == ErrorCode.STORE_BUSY);
      assertThat(count(database)).as("readers go on").isZero();

      // Ends the transaction; after a rollback the driver would begin the next at once.
      other.setAutoCommit(true);
      database.write(DatabaseTest::insertMuch);
      assertThat(count(database)).isEqualTo(2);
    }
  }

  @Test
  void aFailedTransactionLeavesNothing() {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      database.write(handle -> handle.execute("CREATE TABLE t (n INTEGER)"));
      assertThatThrownBy(
              () ->
                  database.write(
                      handle -> {
                        handle.execute("INSERT INTO t VALUES (1)");
                        throw new IllegalStateException("no");
                      }))
          .isInstanceOf(IllegalStateException.class);
      assertThat(count(database)).isZero();
    }
  }

  @Test
  void oneBadBookingDoesNotSpoilTheOthers() {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      var written = new AtomicInteger();
      database.write(handle -> handle.execute("CREATE TABLE t (n INTEGER)"));
      database.later(handle -> handle.execute("INSERT INTO t VALUES (1)"));
      database.later(handle -> handle.execute("INSERT INTO missing VALUES (1)"));
      database.later(
          handle -> handle.execute("INSERT INTO t VALUES (2)"),
          really -> written.addAndGet(really ? 1 : 100));
      database.flush();

      assertThat(count(database)).isEqualTo(2);
      assertThat(written).hasValue(1);
    }
  }

  @Test
  void bookingsOfATimeWhenTheStoreWasHeldAreWrittenInTheirOrder() throws Exception {
    Path file = folder.resolve("x.db");
    try (Database database = Database.open(file);
        Connection other = Database.dataSource(file).getConnection()) {
      database.write(handle -> handle.execute("CREATE TABLE t (n INTEGER)"));
      database.write(handle -> handle.execute("PRAGMA busy_timeout = 20"));
      other.setAutoCommit(false);
      try (var statement = other.createStatement()) {
        statement.execute("INSERT INTO t VALUES (1)");
      }
      var settled = new LinkedBlockingQueue<Boolean>();
      database.later(handle -> handle.execute("INSERT INTO t VALUES (2)"), settled::add);
      database.flush();
      database.later(handle -> handle.execute("UPDATE t SET n = n + 10"), settled::add);
      database.flush();
      assertThat(settled).as("nobody is told of what is not there").isEmpty();

      other.setAutoCommit(true);
      assertThat(settled.poll(10, TimeUnit.SECONDS)).isTrue();
      assertThat(settled.poll(10, TimeUnit.SECONDS)).isTrue();
      assertThat(numbers(database)).containsExactly(11, 12);
    }
  }

  @Test
  void bookingsOfATimeWhenTheDiskWasFullAreWrittenAfterIt() throws Exception {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      database.write(handle -> handle.execute("CREATE TABLE t (data BLOB)"));
      database.write(handle -> handle.execute("PRAGMA max_page_count = 1"));
      var settled = new LinkedBlockingQueue<Boolean>();
      database.later(DatabaseTest::insertMuch, settled::add);
      database.flush();
      assertThat(settled).isEmpty();

      database.write(handle -> handle.execute("PRAGMA max_page_count = 1000"));
      assertThat(settled.poll(10, TimeUnit.SECONDS)).isTrue();
      assertThat(count(database)).isEqualTo(1);
    }
  }

  @Test
  void ofWhatCannotBeWrittenTheOldestIsGivenUpAndTheRestAtTheEnd() {
    var settled = new LinkedBlockingQueue<String>();
    try (Database database = Database.open(folder.resolve("x.db"))) {
      database.write(handle -> handle.execute("CREATE TABLE t (data BLOB)"));
      database.write(handle -> handle.execute("PRAGMA max_page_count = 1"));
      for (int i = 0; i < 130; i++) {
        String name = "booking " + i;
        database.later(DatabaseTest::insertMuch, written -> settled.add(name + " " + written));
      }
      for (int i = 0; i < 6; i++) {
        database.flush();
      }
      assertThat(settled).containsExactly("booking 0 false", "booking 1 false");
    }
    assertThat(settled).hasSize(130).allMatch(told -> told.endsWith("false"));
  }

  @Test
  void whatIsWrittenComesToTheDiskWhileSomebodyReads() throws Exception {
    Path file = folder.resolve("x.db");
    try (Database database = Database.open(file);
        var recording = new Recording()) {
      recording.enable("jdk.FileForce").withoutThreshold();
      recording.start();
      database.write(handle -> handle.execute("CREATE TABLE t (n INTEGER)"));
      database.sync();
      var reading = new CountDownLatch(1);
      var written = new CountDownLatch(1);
      Thread reader =
          Thread.ofPlatform()
              .start(
                  () ->
                      database.read(
                          handle -> {
                            try (ResultIterator<Integer> rows = twoRows(handle)) {
                              rows.next();
                              reading.countDown();
                              return awaits(written, Duration.ofSeconds(30));
                            }
                          }));
      reading.await();
      database.write(handle -> handle.execute("INSERT INTO t VALUES (1)"));

      database.sync();

      written.countDown();
      reader.join();
      recording.stop();
      Path events = folder.resolve("events.jfr");
      recording.dump(events);
      assertThat(RecordingFile.readAllEvents(events))
          .filteredOn(event -> event.getEventType().getName().equals("jdk.FileForce"))
          .extracting(event -> Path.of(event.getString("path")))
          .contains(folder.resolve("x.db-wal"));
    }
  }

  private static ResultIterator<Integer> twoRows(Handle handle) {
    return handle
        .createQuery("SELECT 1 FROM sqlite_master UNION ALL SELECT 2")
        .mapTo(Integer.class)
        .iterator();
  }

  private static List<Integer> numbers(Database database) {
    return database.read(
        handle -> handle.createQuery("SELECT n FROM t ORDER BY n").mapTo(Integer.class).list());
  }

  @Test
  void whoWaitsForWhatIsToBeWrittenWaitsForNothingElse() {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      database.write(handle -> handle.execute("CREATE TABLE t (i INTEGER)"));
      var times = new ArrayList<Duration>();
      for (int i = 0; i < 30; i++) {
        long start = System.nanoTime();
        database.later(handle -> handle.execute("INSERT INTO t VALUES (1)"));
        database.flush();
        times.add(Duration.ofNanos(System.nanoTime() - start));
      }
      // Each would else have waited a tenth of a second for company.
      Collections.sort(times);
      assertThat(times.get(15)).isLessThan(Duration.ofMillis(90));
      assertThat(count(database)).isEqualTo(30);
    }
  }

  @Test
  void whatComesByTheHundredIsNotHeldBackByThePatienceForMore() {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      database.write(handle -> handle.execute("CREATE TABLE t (i INTEGER)"));
      var written = new CountDownLatch(2000);
      for (int i = 0; i < 2000; i++) {
        database.later(
            handle -> handle.execute("INSERT INTO t VALUES (1)"), _ -> written.countDown());
      }
      // 63 batches: with a tenth of a second for each it were six.
      assertThat(awaits(written, Duration.ofSeconds(5))).isTrue();
    }
  }

  private static boolean awaits(CountDownLatch latch, Duration time) {
    try {
      return latch.await(time.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFailureDoesNotShowWhatWasBound() {
    try (Database database = Database.open(folder.resolve("x.db"))) {
      assertThatThrownBy(
              () ->
                  database.write(
                      handle ->
                          handle
                              .createUpdate("INSERT INTO missing VALUES (:secret)")
                              .bind("secret", "hunter2")
                              .execute()))
          .satisfies(failure -> assertThat(stackTrace(failure)).doesNotContain("hunter2"));
    }
  }

  private static String stackTrace(Throwable failure) {
    var out = new StringWriter();
    failure.printStackTrace(new PrintWriter(out));
    return out.toString();
  }

  private static int insertMuch(Handle handle) {
    return handle.execute("INSERT INTO t VALUES (zeroblob(100000))");
  }

  private static long count(Database database) {
    return database.read(
        handle -> handle.createQuery("SELECT COUNT(*) FROM t").mapTo(Long.class).one());
  }

  @Test
  void statementIsReadOnceAndItsValuesAreForgotten() throws SQLException {
    try (Connection connection = Database.dataSource(folder.resolve("x.db")).getConnection();
        Handle handle = Jdbi.open(connection);
        Query query = handle.createQuery("SELECT ?")) {
      var kept = new KeptStatements();
      String sql = "SELECT ?";
      PreparedStatement first = kept.create(connection, sql, query.getContext());
      first.setString(1, "secret");
      PreparedStatement meanwhile = kept.create(connection, sql, query.getContext());
      kept.close(connection, sql, first);
      kept.close(connection, sql, meanwhile);

      PreparedStatement again = kept.create(connection, sql, query.getContext());

      assertThat(again).isSameAs(first);
      assertThat(meanwhile.isClosed()).isTrue();
      try (ResultSet row = again.executeQuery()) {
        assertThat(row.getString(1)).isNull();
      }
    }
  }
}
