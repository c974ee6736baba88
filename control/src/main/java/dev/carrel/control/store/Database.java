package dev.carrel.control.store;

import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.HandleCallback;
import org.jdbi.v3.core.HandleConsumer;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;
import org.jdbi.v3.core.statement.StatementExceptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteDataSource;

/**
 * The SQLite file. One connection writes, a few read beside it (WAL). Bookkeeping that no caller
 * waits for goes through {@link #later} and is written in batches by one thread.
 */
public final class Database implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Database.class);
  private static final int READERS = 4;
  private static final int MAX_PENDING = 10_000;
  // Few enough that who waits to write does not wait long.
  private static final int MAX_BATCH = 32;
  // A transaction costs as much as many rows.
  private static final Duration LINGER = Duration.ofMillis(100);
  private static final Duration AGAIN = Duration.ofSeconds(1);
  // Of what could not be written: the output of an exec, and all that is known of it, waits along.
  private static final int MAX_KEPT = 128;

  private final ReentrantLock writing = new ReentrantLock(true);
  private final Connection writerConnection;
  // Kept open: to open a handle takes Jdbi longer than a row takes SQLite.
  private final Handle writer;
  private PreparedStatement begin;
  private PreparedStatement commit;
  private final List<Connection> readerConnections = new ArrayList<>();
  private final BlockingQueue<Handle> readers = new ArrayBlockingQueue<>(READERS);
  private final BlockingQueue<Pending> pending = new LinkedBlockingQueue<>(MAX_PENDING);
  private final Queue<Joint> joint = new ConcurrentLinkedQueue<>();
  // Of the transaction under way; for who writes.
  private final List<Consumer<Boolean>> afterwards = new ArrayList<>();
  private final Thread batches;
  private volatile boolean hurried;
  private final Path log;
  private final Reserve reserve;
  private final WalCheckpoints checkpoints;

  private Database(SQLiteDataSource source, Path file, Reserve reserve) throws SQLException {
    this.reserve = reserve;
    writerConnection = source.getConnection();
    try (var statement = writerConnection.createStatement()) {
      statement.execute("PRAGMA wal_autocheckpoint = 0");
    }
    begin = writerConnection.prepareStatement("BEGIN IMMEDIATE");
    commit = writerConnection.prepareStatement("COMMIT");
    log = file.resolveSibling(file.getFileName() + "-wal");
    checkpoints = new WalCheckpoints(source.getConnection(), log, writing, reserve);
    writer = handle(writerConnection);
    for (int i = 0; i < READERS; i++) {
      Connection connection = source.getConnection();
      readerConnections.add(connection);
      readers.add(handle(connection));
    }
    batches = Thread.ofPlatform().daemon().name("store-batches").start(this::writeBatches);
  }

  /**
   * Opens or makes the file and brings its schema up to date.
   *
   * @throws SandboxException {@code WRONG_STATE} when a newer version has used it; it is left as it
   *     was
   */
  public static Database open(Path file) {
    return open(file, Optional.empty());
  }

  /**
   * As {@link #open(Path)}.
   *
   * @param blank an empty database that a new file begins with: its schema need not be made
   */
  public static Database open(Path file, Optional<Path> blank) {
    try {
      if (!Files.exists(file)) {
        create(file, blank);
      }
      var reserve = new Reserve(file.resolveSibling("reserve"));
      reserve.releaseIfDiskIsFull();
      SQLiteDataSource source = dataSource(file);
      Schema.bringUpToDate(source, file);
      return new Database(source, file, reserve);
    } catch (SQLException e) {
      throw new IllegalStateException("cannot open the database " + file + ": " + e, e);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot create the database " + file, e);
    }
  }

  /**
   * Runs in one transaction; what it throws rolls back.
   *
   * @throws SandboxException {@code NO_SPACE} or {@code STORE_BUSY} when the host does not let us
   *     write
   */
  public <T> T write(HandleCallback<T, RuntimeException> work) {
    writing.lock();
    try {
      return transaction(work);
    } catch (RuntimeException e) {
      if (reserve.helps(e)) {
        return transaction(work);
      }
      throw e;
    } finally {
      writing.unlock();
    }
  }

  /**
   * As {@link #write}, in one transaction with whatever others want to have written at this moment:
   * who comes while somebody writes waits, and the first of those who waited writes for all.
   *
   * @param work is run again when it was in one transaction with something that failed
   */
  public void join(JointWork work) {
    var mine = new Joint(work);
    joint.add(mine);
    writing.lock();
    try {
      if (!mine.done) {
        writeJoint();
      }
    } finally {
      writing.unlock();
    }
    if (mine.failure != null) {
      if (!reserve.helps(mine.failure)) {
        throw mine.failure;
      }
      join(work);
    }
  }

  /**
   * Tells how the transaction under way ended, true for well; called by who works in it.
   *
   * @param action runs before the next transaction begins; must not block or throw
   */
  public void afterwards(Consumer<Boolean> action) {
    afterwards.add(action);
  }

  public <T> T read(HandleCallback<T, RuntimeException> work) {
    Handle reader = takeReader();
    try {
      return work.withHandle(reader);
    } catch (JdbiException e) {
      throw StoreFailures.explained(e);
    } finally {
      readers.add(reader);
    }
  }

  /** Writes soon, in order; blocks only when far too much is waiting already. */
  public void later(HandleConsumer<RuntimeException> work) {
    later(work, _ -> {});
  }

  /**
   * As {@link #later(HandleConsumer)}.
   *
   * @param work is run again when its transaction failed
   * @param settled told true once others can read it, false when that was given up; must not block
   */
  public void later(HandleConsumer<RuntimeException> work, Consumer<Boolean> settled) {
    enqueue(new Pending.Write(work, settled));
  }

  /**
   * Returns when everything given to {@link #later} before is written, or cannot be just now:
   * whoever waits is not kept by a host that does not let us write.
   */
  public void flush() {
    var mark = new Pending.Mark(new CountDownLatch(1));
    enqueue(mark);
    awaitUninterruptibly(mark.reached());
  }

  /** Brings what is written to the disk, beside who writes. */
  public void sync() {
    boolean moved =
        read(
            handle ->
                handle
                    .select("PRAGMA wal_checkpoint(PASSIVE)")
                    .map(
                        (rows, _) ->
                            rows.getInt("busy") == 0
                                && rows.getInt("checkpointed") >= rows.getInt("log"))
                    .one());
    // Beside another checkpoint, or one who began to read before, nothing is moved: then the log is
    // what has to be on the disk.
    if (!moved) {
      try (var channel = FileChannel.open(log, StandardOpenOption.WRITE)) {
        channel.force(false);
      } catch (IOException e) {
        throw new UncheckedIOException("what is written cannot be brought to the disk", e);
      }
    }
  }

  @Override
  public void close() {
    enqueue(new Pending.Stop());
    joinBatches();
    try {
      checkpoints.close();
      for (Connection connection : readerConnections) {
        connection.close();
      }
      writerConnection.close();
    } catch (SQLException e) {
      throw new IllegalStateException("cannot close the database: " + e, e);
    }
  }

  private static void create(Path file, Optional<Path> blank) throws IOException {
    // Environment variables of sandboxes are in it: nobody else may read it.
    var mine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    if (blank.isEmpty()) {
      Files.createFile(file, mine);
      return;
    }
    // Whole or not at all: half of a database could never be opened.
    Path draft = file.resolveSibling(file.getFileName() + ".draft");
    Files.deleteIfExists(draft);
    Files.createFile(draft, mine);
    Files.write(draft, Files.readAllBytes(blank.get()));
    Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
  }

  static SQLiteDataSource dataSource(Path file) {
    var config = new SQLiteConfig();
    config.setJournalMode(SQLiteConfig.JournalMode.WAL);
    config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL);
    config.setTransactionMode(SQLiteConfig.TransactionMode.IMMEDIATE);
    config.enforceForeignKeys(true);
    // Else each change is followed by a query for the key it made, and nobody asks for that.
    config.setGetGeneratedKeys(false);
    config.setBusyTimeout(10_000);
    var source = new SQLiteDataSource(config);
    source.setUrl("jdbc:sqlite:" + file);
    return source;
  }

  private static Handle handle(Connection connection) {
    Jdbi jdbi = Jdbi.create(connection);
    // By default a failure shows the bound values, and some of ours are secret.
    jdbi.getConfig(StatementExceptions.class)
        .setMessageRendering(StatementExceptions.MessageRendering.NONE);
    var statements = new KeptStatements();
    jdbi.setStatementBuilderFactory(_ -> statements);
    return jdbi.open();
  }

  private <T> T transaction(HandleCallback<T, RuntimeException> work) {
    try {
      return committed(() -> work.withHandle(writer));
    } catch (JdbiException e) {
      throw StoreFailures.explained(e);
    }
  }

  private void writeJoint() {
    var batch = new ArrayList<Joint>();
    for (Joint next = joint.poll(); next != null; next = joint.poll()) {
      batch.add(next);
    }
    try {
      joint(batch);
    } catch (RuntimeException e) {
      // Whose fault it was is not known: each by itself.
      batch.forEach(this::writeAlone);
    }
    batch.forEach(item -> item.done = true);
  }

  private void writeAlone(Joint item) {
    try {
      joint(List.of(item));
    } catch (RuntimeException e) {
      item.failure = e;
    }
  }

  // Without Jdbi, which takes longer than SQLite does: requests wait for this.
  private void joint(List<Joint> items) {
    committed(
        () -> {
          for (Joint item : items) {
            item.work.on(writerConnection);
          }
          return true;
        });
  }

  /** Between BEGIN and COMMIT, prepared once; what the work throws rolls back. */
  private <T> T committed(Work<T> work) {
    boolean committed = false;
    try {
      begin.execute();
      T result = work.run();
      commit.execute();
      committed = true;
      return result;
    } catch (SQLException e) {
      throw StoreFailures.explained(e);
    } finally {
      if (!committed) {
        rollBack();
      }
      settle(committed);
    }
  }

  private void rollBack() {
    try (var statement = writerConnection.createStatement()) {
      // One that failed cannot be used again.
      begin = writerConnection.prepareStatement("BEGIN IMMEDIATE");
      commit = writerConnection.prepareStatement("COMMIT");
      statement.execute("ROLLBACK");
    } catch (SQLException e) {
      // SQLite has rolled back by itself, as after most failures.
      LOG.debug("nothing to roll back: {}", e.getMessage());
    }
  }

  private void settle(boolean committed) {
    for (Consumer<Boolean> action : afterwards) {
      action.accept(committed);
    }
    afterwards.clear();
  }

  private void writeBatches() {
    var batch = new ArrayList<Pending>();
    boolean stopped = false;
    while (!stopped) {
      try {
        gather(batch);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      stopped = batch.stream().anyMatch(Pending.Stop.class::isInstance);
      if (stopped) {
        Reserve.forLastWords(() -> writeBatch(batch, true));
      } else {
        writeBatch(batch, false);
      }
    }
  }

  /** Waits a little for more, unless there is much or somebody waits for what is there. */
  private void gather(List<Pending> batch) throws InterruptedException {
    boolean again = !batch.isEmpty();
    if (!again) {
      batch.add(pending.take());
    }
    int most = again ? MAX_KEPT : MAX_BATCH;
    if (batch.getLast() instanceof Pending.Write && pending.size() < most) {
      // Not in the queue, where each write that comes would wake it.
      Duration patience = again ? AGAIN : LINGER;
      long end = System.nanoTime() + patience.toNanos();
      for (long left = patience.toNanos(); left > 0 && !hurried; left = end - System.nanoTime()) {
        LockSupport.parkNanos(this, left);
      }
    }
    hurried = false;
    pending.drainTo(batch, most - 1);
  }

  /**
   * Leaves in the batch what is to be tried again.
   *
   * @param last whether there is no other time
   */
  private void writeBatch(List<Pending> batch, boolean last) {
    Set<Pending> written = Collections.newSetFromMap(new IdentityHashMap<>());
    try {
      write(
          handle -> {
            batch.stream().filter(item -> writeOne(handle, item)).forEach(written::add);
            return true;
          });
    } catch (RuntimeException e) {
      written.clear();
      if (!last && StoreFailures.mayPass(e)) {
        LOG.warn("bookkeeping of {} items waits: {}", batch.size(), e.getMessage());
        keep(batch);
        return;
      }
      // The top of a loop: what fails costs this bookkeeping, not all that is to come.
      LOG.error("bookkeeping of {} items was not written", batch.size(), e);
    }
    batch.forEach(item -> settle(item, written.contains(item)));
    batch.clear();
  }

  /** The newest, in their order; nobody waits for them. */
  private static void keep(List<Pending> batch) {
    batch.stream().filter(Pending.Mark.class::isInstance).forEach(mark -> settle(mark, false));
    batch.removeIf(Pending.Mark.class::isInstance);
    if (batch.size() > MAX_KEPT) {
      List<Pending> oldest = batch.subList(0, batch.size() - MAX_KEPT);
      LOG.error("bookkeeping of {} items was not written: too much waits", oldest.size());
      oldest.forEach(item -> settle(item, false));
      oldest.clear();
    }
  }

  private static void settle(Pending item, boolean written) {
    switch (item) {
      case Pending.Write(_, var settled) -> settled.accept(written);
      case Pending.Mark mark -> mark.reached().countDown();
      case Pending.Stop _ -> {}
    }
  }

  /** Whether it is in the transaction under way. */
  private static boolean writeOne(Handle handle, Pending item) {
    if (item instanceof Pending.Write(var work, _)) {
      try {
        work.useHandle(handle);
      } catch (RuntimeException e) {
        if (StoreFailures.mayPass(e)) {
          throw e;
        }
        // The top of a loop: one bad row must not take the others of its batch with it.
        LOG.error("bookkeeping was not written", e);
        return false;
      }
    }
    return true;
  }

  private void enqueue(Pending item) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          pending.put(item);
          hurry(item);
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void hurry(Pending item) {
    if (!(item instanceof Pending.Write)) {
      hurried = true;
      LockSupport.unpark(batches);
    }
  }

  private Handle takeReader() {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return readers.take();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void joinBatches() {
    boolean interrupted = false;
    while (true) {
      try {
        batches.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Work<T> {
    T run() throws SQLException;
  }

  /** What is written in one transaction with the work of others. */
  public interface JointWork {
    void on(Connection connection) throws SQLException;
  }

  /** Work that waits for who writes; its fields are for who holds the lock. */
  private static final class Joint {
    private final JointWork work;
    private boolean done;
    private @Nullable RuntimeException failure;

    Joint(JointWork work) {
      this.work = work;
    }
  }

  private sealed interface Pending {
    record Write(HandleConsumer<RuntimeException> work, Consumer<Boolean> settled)
        implements Pending {}

    record Mark(CountDownLatch reached) implements Pending {}

    record Stop() implements Pending {}
  }
}
