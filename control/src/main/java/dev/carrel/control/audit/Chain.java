package dev.carrel.control.audit;

import dev.carrel.control.store.Database;
import dev.carrel.spi.SandboxId;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The end of the chain, to which records are added in transactions of the database's one writer.
 * Kept in memory: who changes the last row has no say in what the next one is chained to.
 */
final class Chain {
  private final Database database;
  private final Journal journal;
  private final int outputChars;
  // For who writes to the database, and so for one thread at a time.
  private final MessageDigest sha256 = RequestDigest.sha256();
  private @Nullable PreparedStatement insert;
  private @Nullable PreparedStatement mark;
  private @Nullable Head tentative;
  private long taken;
  private Head committed;
  // The least that somebody waits to be passed: the others wake nobody.
  private long awaited = Long.MAX_VALUE;

  Chain(Database database, Journal journal, int outputChars, Head head) {
    this.database = database;
    this.journal = journal;
    this.outputChars = outputChars;
    this.committed = head;
  }

  /** The last record that is in the database for good. */
  synchronized Head head() {
    return committed;
  }

  /** Waits until there is a record after this one; false when none came in time. */
  synchronized boolean await(long sequence, long millis) throws InterruptedException {
    long end = System.nanoTime() + millis * 1_000_000;
    while (committed.sequence() <= sequence) {
      long left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return false;
      }
      awaited = Math.min(awaited, sequence);
      wait(left);
    }
    return true;
  }

  /** What is to be recorded, without its place in the chain. */
  StoredRecord open(AuditEntry entry) {
    SandboxId sandbox = entry.who().sandbox();
    return new StoredRecord(
        0,
        ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()),
        entry.who().tenant(),
        entry.who().namespace(),
        sandbox == null ? null : sandbox.value(),
        entry.action(),
        Body.text(entry, outputChars),
        new byte[0]);
  }

  /** Adds a record in the caller's transaction; it counts when that is committed. */
  void append(Connection connection, AuditEntry entry) throws SQLException {
    appendNoted(connection);
    add(connection, open(entry));
  }

  /** Adds those that wait in the journal, before all that came after them. */
  void appendNoted(Connection connection) throws SQLException {
    List<Journal.Noted> waiting = journal.after(taken);
    if (waiting.isEmpty()) {
      return;
    }
    for (Journal.Noted noted : waiting) {
      add(connection, noted.row());
    }
    taken = waiting.getLast().number();
    PreparedStatement statement = mark;
    if (statement == null) {
      statement = connection.prepareStatement(AuditStore.MARK);
    }
    mark = null;
    statement.setLong(1, taken);
    statement.executeUpdate();
    mark = statement;
  }

  private void add(Connection connection, StoredRecord open) throws SQLException {
    Head before = tentative;
    if (before == null) {
      before = head();
      database.afterwards(this::settle);
    }
    tentative = before;
    StoredRecord placed = open.withSequence(before.sequence() + 1);
    StoredRecord row = placed.withHash(placed.hashAfter(before.hash(), sha256));
    PreparedStatement statement = insert;
    if (statement == null) {
      statement = connection.prepareStatement(AuditStore.INSERT);
    }
    // One that failed is not used again.
    insert = null;
    AuditStore.insert(statement, row);
    insert = statement;
    tentative = new Head(row.sequence(), row.hash());
  }

  private synchronized void settle(boolean kept) {
    Head reached = tentative;
    if (kept && reached != null) {
      committed = reached;
      if (taken > 0) {
        journal.written(taken);
      }
      if (reached.sequence() > awaited) {
        awaited = Long.MAX_VALUE;
        notifyAll();
      }
    }
    tentative = null;
    // All that the database has is no longer in the journal.
    taken = 0;
  }
}
