package dev.carrel.control.audit;

import dev.carrel.control.audit.Checkpoint.Kind;
import dev.carrel.control.store.Database;
import dev.carrel.spi.SandboxException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Signs the chain from time to time, on a thread of its own: a signature takes milliseconds. */
final class Checkpoints implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Checkpoints.class);
  private static final Duration RETENTION = Duration.ofHours(1);

  private final Database database;
  private final AuditStore store;
  private final SigningKey key;
  private final CheckpointFile side;
  private final Chain chain;
  private final int everyRecords;
  private final Duration interval;
  private final Runnable retention;
  private @Nullable Thread thread;
  private volatile long signed;
  private volatile boolean closed;

  Checkpoints(
      Database database,
      AuditStore store,
      AuditSettings settings,
      SigningKey key,
      CheckpointFile side,
      Chain chain,
      Runnable retention) {
    this.database = database;
    this.store = store;
    this.key = key;
    this.side = side;
    this.chain = chain;
    this.everyRecords = settings.checkpointRecords();
    this.interval = settings.checkpointInterval();
    this.signed = side.read(key).map(Checkpoint::sequence).orElse(0L);
    this.retention = retention;
  }

  void begin() {
    thread = Thread.ofVirtual().name("audit-checkpoints").start(this::run);
  }

  @Override
  public void close() {
    closed = true;
    Thread running = thread;
    if (running != null) {
      running.interrupt();
      end(running);
    }
    attempt(this::sign);
  }

  private static void end(Thread running) {
    boolean interrupted = false;
    while (running.isAlive()) {
      try {
        running.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Does something while nothing is signed or pruned. */
  synchronized <T> T undisturbed(Supplier<T> work) {
    return work.get();
  }

  /**
   * Signs that the records up to some are gone, and removes them.
   *
   * @param lastToGo asked when it is this one's turn: what another left meanwhile is among them
   */
  synchronized void prune(LongSupplier lastToGo, BiConsumer<Handle, AuditEntry> append) {
    long until = lastToGo.getAsLong();
    StoredRecord last = store.find(until).orElse(null);
    if (last == null) {
      return;
    }
    Checkpoint pruned = Checkpoint.sign(Kind.PRUNED, new Head(until, last.hash()), micros(), key);
    database.write(
        handle -> {
          AuditStore.prune(handle, until);
          AuditStore.insert(handle, pruned);
          append.accept(handle, Audit.pruned(until));
          return until;
        });
    sign();
  }

  /** Signs the end of the chain unless that was done. */
  synchronized void sign() {
    Head head = chain.head();
    if (head.sequence() <= signed) {
      return;
    }
    Checkpoint checkpoint = Checkpoint.sign(Kind.HEAD, head, micros(), key);
    database.write(
        handle -> {
          AuditStore.insert(handle, checkpoint);
          return true;
        });
    // On the disk before it is said to be: after a power failure there must be no false alarm.
    database.sync();
    side.write(checkpoint);
    signed = head.sequence();
  }

  private void run() {
    try {
      while (!closed) {
        attempt(retention);
        long next = System.nanoTime() + RETENTION.toNanos();
        while (!closed && System.nanoTime() - next < 0) {
          if (chain.await(signed, RETENTION.toMillis())) {
            // The first of many, or the last for a while: both are signed within the interval.
            chain.await(signed + everyRecords - 1, interval.toMillis());
            if (!attempt(this::sign)) {
              chain.await(Long.MAX_VALUE, interval.toMillis());
            }
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean attempt(Runnable work) {
    try {
      work.run();
      return true;
    } catch (SandboxException | UncheckedIOException e) {
      // The top of a loop: a full disk passes, and the records are chained all the same.
      LOG.warn("the audit could not be signed or pruned: {}", e.getMessage());
      return false;
    }
  }

  private static long micros() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
