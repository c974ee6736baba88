package dev.carrel.control.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves what was written from SQLite's log to its file, on a thread of its own. SQLite would do
 * that at every so many pages in the commit that happens to be next, and whoever waits for that one
 * would wait for the disk. The same thread keeps the disk's reserve full.
 */
final class WalCheckpoints implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WalCheckpoints.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  // A log that is written to all the time never begins anew by itself.
  private static final long LARGE = 32 << 20;

  private final Connection connection;
  private final Path log;
  private final Lock writing;
  private final Reserve reserve;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread;

  /**
   * @param log the file of SQLite's log
   * @param writing held by who writes
   */
  WalCheckpoints(Connection connection, Path log, Lock writing, Reserve reserve) {
    this.connection = connection;
    this.log = log;
    this.writing = writing;
    this.reserve = reserve;
    this.thread = Thread.ofPlatform().daemon().name("store-checkpoints").start(this::run);
  }

  @Override
  public void close() throws SQLException {
    closing.countDown();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    connection.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      while (!closing.await(INTERVAL.toMillis(), TimeUnit.MILLISECONDS)) {
        reserve.fill();
        long size = size();
        if (size > 0) {
          checkpoint();
        }
        if (size > LARGE) {
          // The rest is little by now; when nobody writes meanwhile, the log begins anew.
          writing.lock();
          try {
            checkpoint();
          } finally {
            writing.unlock();
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void checkpoint() {
    try (var statement = connection.createStatement()) {
      statement.execute("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (SQLException e) {
      // The top of a loop: a full disk passes, and the log keeps what was written.
      LOG.warn("the database's log could not be moved to its file: {}", e.getMessage());
    }
  }

  private long size() {
    try {
      return Files.exists(log) ? Files.size(log) : 0;
    } catch (IOException e) {
      return 0;
    }
  }
}
